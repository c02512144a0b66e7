import CloudKitHTTP
import Logging
import ServiceLifecycle

extension CloudApplication {
    /// Listens on a port that the system chooses, until a function has ended.
    ///
    /// - Parameter body: Gets the port.
    package func serve(whileRunning body: (Int) async throws -> Void) async throws {
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let service = try service(listening: { port.yield($0) })
        var services = ServiceGroupConfiguration(
            services: [.init(service: service)], logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        // Connections that a test leaves in the middle of a request are cut then.
        services.maximumGracefulShutdownDuration = .seconds(5)
        let group = ServiceGroup(configuration: services)
        // Not a child task: one that is cancelled, as by a time limit, would drop connections that the server has accepted
        // and not begun to handle, which ends the process.
        let serving = Task {
            defer { port.finish() }
            try await group.run()
        }
        guard let number = await ports.first(where: { _ in true }) else { return try await serving.value }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(number)) } catch { outcome = .failure(error) }
        await group.triggerGracefulShutdown()
        // An error tells of connections that were cut.
        _ = await serving.result
        try outcome.get()
    }
}
