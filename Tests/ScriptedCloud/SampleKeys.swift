import CloudKitEncryption
import CloudKitModel

@testable import CloudKitClient

/// Keys that two devices of one account have without speaking to each other.
package struct SampleKeys {
    package static let secret = (try? AccountSecret(bytes: Array(repeating: 5, count: 32))) ?? AccountSecret()

    static func zone(
        _ name: String = "Z", owner: String = "_me", epoch: UInt32 = 0, secret: AccountSecret = secret
    ) -> ZoneKeys {
        let place = ZoneAddress(
            container: "iCloud.com.example.app", environment: "development", owner: owner, zone: name)
        let root = secret.root(container: place.container, environment: place.environment)
        return ZoneKeys(
            ShareKeyAccess(root: root, secret: secret, user: "_me"), place: place, epoch: epoch,
            shared: SharedKeys(place))
    }

    /// A record as the cloud would hold it.
    package static func record(
        _ name: String, _ values: [String: FieldValue], in zone: String = "Z", type: String = "Note", epoch: UInt32 = 0,
        parent: String? = nil, version: UInt64 = 1, after previous: Record? = nil
    ) throws -> Record {
        var keys = Self.zone(zone, epoch: epoch)
        let cipher = try keys.cipher(
            sealing: name, recordType: type, parent: parent, isMoved: parent != nil, held: nil)
        var record = Record.stored(name, in: ZoneID(zoneName: zone), type: type)
        let sealed = try values.sorted { $0.key < $1.key }.map { name, value in
            try cipher.sealStated(Field(name: name, value: value))
        }
        record.fields = sealed.map(\.field)
        record.protection = cipher.protection
        record.parent = parent
        let statement = try RecordStatement(
            after: previous.map { try RecordStatement($0.protection?.statement ?? []) }, version: version,
            values: sealed.map(\.value), facts: record.facts(for: "_me"), sealer: cipher.sealer)
        record.protection?.statement = statement.bytes
        return record
    }
}
