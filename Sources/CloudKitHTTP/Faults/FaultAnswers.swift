import CloudKitServer

/// A fault as operators see it.
struct FaultLine: Encodable {
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
        retryAfter = fault.tellsWait
    }
}

struct FaultList: Encodable {
    var faults: [FaultLine]
}

/// What came of an order; only what concerns it is there.
struct ReceiptBody: Encodable {
    var fault: FaultLine?
    var removed: Int?
    var forgotten: Int?
    var zones: Int?
    var deviceID: String?
    var userRecordName: String?

    init(_ receipt: FaultOutcome) {
        fault = receipt.fault.map { FaultLine($0) }
        removed = receipt.removed
        forgotten = receipt.forgotten
        zones = receipt.zones
        deviceID = receipt.device?.id
        userRecordName = receipt.user?.recordName
    }
}

/// Devices and browsers of an account.
struct DeviceList: Encodable {
    var devices: [SessionLine]
}
