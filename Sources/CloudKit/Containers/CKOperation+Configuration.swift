import CloudKitClient
import Foundation
import Synchronization

/// The settings of operations: quality of service, timeouts, networks.
///
/// A setting that is not made here comes from the group's default configuration, then from the system's defaults
/// (B-OPS-05).
public final class CKOperationConfiguration: NSObject, Sendable {
    private let state: Mutex<OperationSettings>

    /// Creates a configuration with the default values.
    public override convenience init() { self.init(OperationSettings()) }

    init(_ chosen: OperationSettings) {
        state = Mutex(chosen)
        super.init()
    }

    /// The settings made explicitly.
    var chosen: OperationSettings { state.withLock { $0 } }

    /// A copy that later changes do not reach.
    func snapshot() -> CKOperationConfiguration { CKOperationConfiguration(chosen) }

    /// Returns a copy of the object.
    public override func copy() -> Any { snapshot() }

    /// The container of operations that have none of their own; nil for the default container.
    public var container: CKContainer? {
        get { state.withLock { $0.container } }
        set { state.withLock { $0.container = newValue } }
    }

    /// The quality of service. `.default`, `.utility` and `.background` operations are discretionary: they retry
    /// automatically (B-OPS-04).
    public var qualityOfService: QualityOfService {
        get { state.withLock { $0.qualityOfService } ?? .default }
        set { state.withLock { $0.qualityOfService = newValue } }
    }

    /// A Boolean value that indicates whether requests may use a cellular network. Default: true.
    public var allowsCellularAccess: Bool {
        get { state.withLock { $0.allowsCellularAccess } ?? true }
        set { state.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// A Boolean value that indicates whether the operation outlives the process (B-OPS-06). Default: false.
    public var isLongLived: Bool {
        get { state.withLock { $0.isLongLived } ?? false }
        set { state.withLock { $0.isLongLived = newValue } }
    }

    /// Seconds without data after which a request fails. Default: 60.
    public var timeoutIntervalForRequest: TimeInterval {
        get { state.withLock { $0.requestTimeout } ?? CallSettings.requestTimeoutDefault }
        set { state.withLock { $0.requestTimeout = newValue } }
    }

    /// Seconds that the whole operation may take. Default: 7 days.
    public var timeoutIntervalForResource: TimeInterval {
        get { state.withLock { $0.resourceTimeout } ?? CallSettings.resourceTimeoutDefault }
        set { state.withLock { $0.resourceTimeout = newValue } }
    }
}

extension CKOperation {
    /// The settings of an operation.
    public typealias Configuration = CKOperationConfiguration
    /// The identifier of an operation.
    public typealias ID = String
}

/// The settings made explicitly, each nil where none was made.
struct OperationSettings: Sendable {
    var container: CKContainer?
    var qualityOfService: QualityOfService?
    var allowsCellularAccess: Bool?
    var isLongLived: Bool?
    var requestTimeout: TimeInterval?
    var resourceTimeout: TimeInterval?

    /// These settings, with what they leave open taken from others (B-OPS-05).
    func over(_ others: OperationSettings?) -> OperationSettings {
        guard let others else { return self }
        return OperationSettings(
            container: container ?? others.container,
            qualityOfService: qualityOfService ?? others.qualityOfService,
            allowsCellularAccess: allowsCellularAccess ?? others.allowsCellularAccess,
            isLongLived: isLongLived ?? others.isLongLived,
            requestTimeout: requestTimeout ?? others.requestTimeout,
            resourceTimeout: resourceTimeout ?? others.resourceTimeout)
    }

    func settings(
        operationID: String, group: CKOperationGroup?, qualityOfServiceDefault: QualityOfService
    ) -> CallSettings {
        let level = qualityOfService ?? qualityOfServiceDefault
        return CallSettings(
            operationID: operationID, group: group?.stamp,
            isDiscretionary: level != .userInitiated && level != .userInteractive,
            requestTimeout: requestTimeout ?? CallSettings.requestTimeoutDefault,
            resourceTimeout: resourceTimeout ?? CallSettings.resourceTimeoutDefault,
            allowsCellularAccess: allowsCellularAccess ?? true)
    }
}
