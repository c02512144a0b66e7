import CloudKitAccounts
import CloudKitServer

/// A fault as operators see it.
struct FaultItem: Encodable {
    var id: String
    var kind: String
    var container: String?
    var userRecordName: String?
    /// Milliseconds since 1970.
    var until: Int64?
    var bytes: UInt64?
    var retryAfter: Bool

    init(_ fault: Fault) {
        id = fault.id
        kind = fault.kind.rawValue
        container = fault.container
        userRecordName = fault.user
        until = fault.until
        bytes = fault.bytes
        retryAfter = fault.sendsRetryAfter
    }
}

/// The faults that are ordered.
struct FaultListBody: Encodable {
    var faults: [FaultItem]
}

/// The outcome of an order, with the keys that concern it.
struct FaultReceiptBody: Encodable {
    var fault: FaultItem?
    var removed: Int?
    var forgotten: Int?
    var zones: Int?
    var deviceID: String?
    var userRecordName: String?

    init(_ receipt: FaultOutcome) {
        fault = receipt.fault.map { FaultItem($0) }
        removed = receipt.removed
        forgotten = receipt.forgotten
        zones = receipt.zones
        deviceID = receipt.device?.id
        userRecordName = receipt.user?.recordName
    }
}

/// The devices and browsers of an account.
struct DeviceListBody: Encodable {
    var devices: [SessionLine]
}
