import CloudKitClient
import Synchronization

/// A device of a test, whose containers take the place of the configured ones: for code that makes its containers itself.
package struct ContainerStandIn: Sendable {
    /// The container that `CKContainer.default()` returns.
    let defaultContainer: CKContainer
    /// Returns the connection of another container of the device.
    let connection: @Sendable (_ identifier: String) -> ContainerConnection

    /// Creates a stand-in.
    package init(
        defaultContainer: CKContainer, connection: @escaping @Sendable (_ identifier: String) -> ContainerConnection
    ) {
        self.defaultContainer = defaultContainer
        self.connection = connection
    }

    /// The stand-in of a task and of everything that the framework calls on its behalf.
    @TaskLocal package static var ofTask: ContainerStandIn?

    private static let process = Mutex<ContainerStandIn?>(nil)

    /// The stand-in of all code that has none of its own, also on dispatch queues and in detached tasks.
    package static var ofProcess: ContainerStandIn? {
        get { process.withLock { $0 } }
        set { process.withLock { $0 = newValue } }
    }

    /// The stand-in that applies here; nil: the configured containers.
    static var current: ContainerStandIn? { ofTask ?? ofProcess }
}
