import AsyncLocks
import CloudKit

/// The turns of the devices that stand in for the containers of the whole process.
enum ProcessDefault {
    private static let turns = AsyncMutex()
    @TaskLocal private static var isHeld = false

    /// Runs the body with a stand-in for the process's containers; a task that does so already does not wait for itself.
    static func with<Value>(
        _ standIn: ContainerStandIn, _ body: () async throws -> Value
    ) async rethrows -> Value {
        if isHeld { return try await replacing(standIn, body) }
        return try await turns.withLock {
            try await $isHeld.withValue(true) { try await replacing(standIn, body) }
        }
    }

    private static func replacing<Value>(
        _ standIn: ContainerStandIn, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let before = ContainerStandIn.ofProcess
        ContainerStandIn.ofProcess = standIn
        defer { ContainerStandIn.ofProcess = before }
        return try await body()
    }
}
