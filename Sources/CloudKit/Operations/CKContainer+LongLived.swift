import CloudKitClient
import CloudKitDevice
import CloudKitModel
import Foundation

extension CKContainer {
    /// Returns the identifiers of the user's operations that outlive their process: running, interrupted, or finished
    /// within the last 24 hours without their completion block having run (B-OPS-06). Interrupted ones are kept as long
    /// as their resource timeout (`timeoutIntervalForResource`, a week by default), at least 24 hours.
    nonisolated(nonsending) public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        guard let (store, owner) = try longLived() else { return [] }
        return store.ids(of: owner, at: Date())
    }

    /// Returns the operation with this identifier. Set its blocks and add it: it reports everything received so far
    /// without requesting it again, and then continues.
    ///
    /// - Returns: nil: the operation does not exist, has expired, belongs to another account, or runs in another
    ///   process.
    nonisolated(nonsending) public func longLivedOperation(
        for operationID: CKOperation.ID
    ) async throws -> CKOperation? {
        guard let (store, owner) = try longLived(), let kept = store.operation(operationID, of: owner) else {
            return nil
        }
        guard !kept.isOver(at: Date()) else {
            store.remove(operationID)
            return nil
        }
        if let running = LongLivedOperations.find(operationID, in: store) { return running }
        guard let operation = kept.arguments.operation(), let scope = CKDatabase.Scope(rawValue: kept.scope),
            let life = LongLivedProgress(resuming: kept, in: store)
        else { return nil }
        operation.resume(kept, life)
        operation.database = database(with: scope)
        LongLivedOperations.note(operation, in: store)
        return operation
    }

    /// The identifiers of the user's operations that outlive their process, see `allLongLivedOperationIDs()`.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        Task { [self] in
            do {
                completionHandler(try await allLongLivedOperationIDs(), nil)
            } catch {
                completionHandler(nil, error)
            }
        }
    }

    /// The operation with this identifier, see `longLivedOperation(for:)`.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        Task { [self] in
            do {
                completionHandler(try await longLivedOperation(for: operationID), nil)
            } catch {
                completionHandler(nil, error)
            }
        }
    }

    /// Returns the store of long-lived operations and their user; nil: no user is signed in, or this device keeps
    /// none.
    private func longLived() throws -> (LongLivedStore, LongLivedOwner)? {
        do {
            _ = try connection.cloud.place.get()
        } catch {
            throw CKError(error)
        }
        guard let store = connection.longLivedStore, let owner = connection.longLivedOwner else {
            return nil
        }
        return (store, owner)
    }
}
