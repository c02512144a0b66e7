/// Shared code of the forms with completion handlers: the async form runs in a task, and its handler is called on an
/// arbitrary queue.
extension CKContainer {
    func complete<Value: Sendable>(
        to handler: @escaping @Sendable (Value?, (any Error)?) -> Void,
        _ body: @escaping @Sendable (CKContainer) async throws -> Value
    ) {
        Task {
            do {
                handler(try await body(self), nil)
            } catch {
                handler(nil, error)
            }
        }
    }

    func complete<Value: Sendable>(
        to handler: @escaping @Sendable (Result<Value, any Error>) -> Void,
        _ body: @escaping @Sendable (CKContainer) async throws -> Value
    ) {
        Task {
            do {
                handler(.success(try await body(self)))
            } catch {
                handler(.failure(error))
            }
        }
    }
}
