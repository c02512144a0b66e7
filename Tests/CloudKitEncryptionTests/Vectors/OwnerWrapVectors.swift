@testable import CloudKitEncryption

extension VectorMaker {
    /// New wraps on every call; for writing the file.
    func ownerWraps() throws -> [Vector] {
        let owner = try secret.identity().publicIdentity
        let made = recordKey(5, made: true)
        var alone = RecordProtection(of: made)
        try alone.wrap(made, for: owner)
        var shared = RecordProtection(of: made)
        try shared.wrap(made, under: ShareKey(place: share, epoch: 9, material: key(8)), random: random(4))
        try shared.wrap(made, for: owner)
        func vector(_ name: String, _ protection: RecordProtection) -> Vector {
            Vector(
                name, texts: place.merging(["record": made.place.name]) { $1 },
                numbers: ["epoch": UInt64(made.epoch), "origin": UInt64(made.origin.rawValue)],
                bytes: ["ownerSecret": secret.bytes, "key": made.material.bytes, "keys": protection.keys])
        }
        let first = vector("a member's key for the owner", alone)
        let other = try AccountSecret(bytes: Array(32..<64))
        return [
            first, vector("beside the wrap for the share", shared),
            first.refused("another record") { $0.texts["record"] = "note-2" },
            first.refused("another zone") { $0.texts["zone"] = "Other" },
            first.refused("another epoch") { $0.numbers["epoch"] = 3 },
            first.refused("another account") { $0.bytes["ownerSecret"] = other.bytes.hex },
            try first.refused("the encapsulated key was changed") { try $0.flip("keys", at: 10) },
            try first.refused("the sealed key was changed") { try $0.flip("keys", at: 60) },
            first.refused("cut short") { $0.bytes["keys"]?.removeLast(2) },
            first.refused("something was added") { $0.bytes["keys"]? += "00" },
        ]
    }
}
