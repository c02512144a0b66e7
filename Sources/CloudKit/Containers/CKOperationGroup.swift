import CloudKitClient
import Foundation
import Synchronization

/// Operations that belong together, so that the server's log can report their total cost.
public final class CKOperationGroup: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The amount of data that an app expects to transfer; a hint.
    public enum TransferSize: Int, Sendable {
        case unknown = 0
        case kilobytes = 1
        case megabytes = 2
        case tensOfMegabytes = 3
        case hundredsOfMegabytes = 4
        case gigabytes = 5
        case tensOfGigabytes = 6
        case hundredsOfGigabytes = 7
    }

    private struct State {
        var configuration = CKOperation.Configuration()
        var name: String?
        var quantity = 0
        var expectedSendSize = TransferSize.unknown
        var expectedReceiveSize = TransferSize.unknown
    }

    /// The unique identifier of the group.
    public let operationGroupID: String
    private let state: Mutex<State>

    /// Creates a group with a unique identifier.
    public override convenience init() { self.init(operationGroupID: UUID().uuidString, State()) }

    private init(operationGroupID: String, _ state: State) {
        self.operationGroupID = operationGroupID
        self.state = Mutex(state)
        super.init()
    }

    /// The settings for operations of the group that do not make them (B-OPS-05). Setting nil restores the defaults.
    public var defaultConfiguration: CKOperation.Configuration! {
        get { state.withLock { $0.configuration } }
        set {
            let copy = newValue?.snapshot() ?? CKOperation.Configuration()
            state.withLock { $0.configuration = copy }
        }
    }

    /// The purpose of the group, for the server's log: the same text for all groups that do the same.
    public var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// The number of things that the app counts; 0 says nothing.
    public var quantity: Int {
        get { state.withLock { $0.quantity } }
        set { state.withLock { $0.quantity = newValue } }
    }

    /// The amount of data that the app expects to send.
    public var expectedSendSize: TransferSize {
        get { state.withLock { $0.expectedSendSize } }
        set { state.withLock { $0.expectedSendSize = newValue } }
    }

    /// The amount of data that the app expects to receive.
    public var expectedReceiveSize: TransferSize {
        get { state.withLock { $0.expectedReceiveSize } }
        set { state.withLock { $0.expectedReceiveSize = newValue } }
    }

    var stamp: OperationGroupInfo {
        state.withLock { state in
            OperationGroupInfo(
                groupID: operationGroupID, name: state.name, quantity: state.quantity,
                expectedSendBytes: state.expectedSendSize.bytesMax,
                expectedReceiveBytes: state.expectedReceiveSize.bytesMax)
        }
    }

    // MARK: Copies and archives

    /// Returns a copy of the object; an immutable object returns itself.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKOperationGroup(
            operationGroupID: operationGroupID,
            state.withLock { state in
                var copy = state
                copy.configuration = state.configuration.snapshot()
                return copy
            })
    }

    /// A Boolean value that indicates whether the class can be archived securely; always true.
    public static var supportsSecureCoding: Bool { true }

    /// Creates the object from an archive; nil when the archive does not describe one.
    public init(coder aDecoder: NSCoder) {
        let decoded = aDecoder.decodeObject(of: NSString.self, forKey: "OperationGroupID") as String?
        operationGroupID = decoded ?? UUID().uuidString
        var state = State()
        state.name = aDecoder.decodeObject(of: NSString.self, forKey: "OperationGroupName") as String?
        state.quantity = aDecoder.decodeInteger(forKey: "OperationGroupQuantity")
        state.expectedSendSize =
            TransferSize(rawValue: aDecoder.decodeInteger(forKey: "ExpectedSendSize")) ?? .unknown
        state.expectedReceiveSize =
            TransferSize(rawValue: aDecoder.decodeInteger(forKey: "ExpectedReceiveSize")) ?? .unknown
        self.state = Mutex(state)
        super.init()
    }

    /// Archives everything but the default configuration, which may name a container.
    public func encode(with coder: NSCoder) {
        coder.encode(operationGroupID as NSString, forKey: "OperationGroupID")
        if let name { coder.encode(name as NSString, forKey: "OperationGroupName") }
        coder.encode(quantity, forKey: "OperationGroupQuantity")
        coder.encode(expectedSendSize.rawValue, forKey: "ExpectedSendSize")
        coder.encode(expectedReceiveSize.rawValue, forKey: "ExpectedReceiveSize")
    }
}

extension CKOperationGroup.TransferSize {
    /// The upper end in bytes; nil when unknown.
    var bytesMax: Int64? {
        switch self {
        case .unknown: nil
        case .kilobytes: 1 << 20
        case .megabytes: 10 << 20
        case .tensOfMegabytes: 100 << 20
        case .hundredsOfMegabytes: 1 << 30
        case .gigabytes: 10 << 30
        case .tensOfGigabytes: 100 << 30
        case .hundredsOfGigabytes: 1 << 40
        }
    }
}
