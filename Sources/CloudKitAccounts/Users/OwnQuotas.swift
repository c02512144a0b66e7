import CloudKitRecordLayer
import JSONBytes

/// What of an `Account` decides about the space of its private databases, by the names under which it is stored.
struct OwnQuotas: RowPart {
    private var bytes: UInt64?
    private var isUnlimited = false
    private var containers: [String: String] = [:]

    init(rowBytes bytes: [UInt8]) throws {
        try Self.readProperties(of: bytes) { name, json in
            switch name {
            case "quota":
                let number = String(decoding: try json.number().bytes, as: UTF8.self)
                self.bytes = try Self.required(UInt64(number), "quota in bytes")
            case "unlimited": isUnlimited = try json.bool()
            case "quotas": try json.object { json, container in containers[container.string] = try json.string() }
            default: try json.skipValue()
            }
        }
    }

    /// Returns the quota of the account in a container, or that of the account; `cloud` where it has neither.
    func quota(in container: String) -> AccountQuota {
        (containers[container].flatMap { AccountQuota(text: $0) } ?? .cloud)
            .or(AccountQuota(bytes: bytes, isUnlimited: isUnlimited))
    }
}
