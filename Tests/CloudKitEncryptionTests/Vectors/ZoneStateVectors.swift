@testable import CloudKitEncryption

extension VectorMaker {
    /// States of a zone: of a device that has seen another one, saved `record` and seen the end of `ended`; and of one with nothing to say.
    func zoneStates() throws -> [Vector] {
        let root = secret.root(container: zone.container, environment: zone.environment)
        let key = root.stateKey(of: zone)
        let salt = root.salt(of: zone)
        let device = key.newDevice(random: random(7))
        let other = key.newDevice(random: random(8))
        func vector(_ name: String, _ state: ZoneState) throws -> Vector {
            let sealed = try key.seal(
                state, of: device, number: 1_700_000_000_500, incarnation: "8f3a-2", random: random(4))
            let written = state.changes.first
            let names = ["incarnation": "8f3a-2", "record": "note-1", "ended": "note-2"]
            return Vector(
                name, texts: place.merging(names) { $1 },
                numbers: [
                    "number": 1_700_000_000_500, "epoch": UInt64(state.epoch), "others": UInt64(state.others.count),
                    "otherNumber": state.others[other] ?? 0, "changes": UInt64(state.changes.count),
                    "version": written?.version ?? 0, "tag": UInt64(written?.tag ?? 0),
                    "created": UInt64(written?.created ?? 0),
                ],
                bytes: [
                    "secret": secret.bytes, "device": device.bytes, "other": other.bytes, "nonce": Self.nonce(4),
                    "sealed": sealed,
                ])
        }
        let written = StatedChange(
            record: salt.number(for: "note-1") >> 8, version: 1_700_000_000_001, tag: 0x12_3456, isDeletion: false,
            created: 0x9ABC_DEF0)
        let ended = StatedChange(
            record: salt.number(for: "note-2") >> 8, version: 1_700_000_000_001, tag: 0x12_3456, isDeletion: true,
            created: 0)
        let full = try vector(
            "two changes", ZoneState(epoch: 2, others: [other: 1_700_000_000_400], changes: [written, ended]))
        let moved = ["container", "environment", "owner", "zone", "incarnation"].map { key in
            full.refused("in another place: \(key)") { $0.texts[key] = "other" }
        }
        return [full, try vector("nothing", ZoneState(epoch: 0, others: [:], changes: []))] + moved + [
            full.refused("under another number") { $0.numbers["number"] = 1_700_000_000_501 },
            try full.refused("of another device") { try $0.flip("device", at: 11) },
            try full.refused("format version 0") { try $0.flip("sealed", at: 0) },
            try full.refused("the ciphertext was changed") { try $0.flip("sealed", at: 20) },
            full.refused("cut short") { $0.bytes["sealed"]?.removeLast(2) },
        ]
    }
}
