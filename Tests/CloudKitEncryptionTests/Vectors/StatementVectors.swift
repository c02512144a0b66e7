@testable import CloudKitEncryption

extension VectorMaker {
    /// Statements by the owner and by an administrator.
    func statements() throws -> [Vector] {
        let owner = try secret.identity()
        let bob = try AccountSecret(bytes: Array(32..<64)).identity()
        let eve = try AccountSecret(bytes: Array(64..<96)).identity()
        let shareKey = ShareKey(place: share, epoch: 9, material: key(8))
        var statement = ShareStatement(of: share, root: "folder", publicPermission: .readOnly)
        statement.participants = [
            .init(
                id: "p-bob", isAdministrator: true, permission: .readWrite,
                subject: .init(.user, "_bob", of: share), identity: bob.publicIdentity.fingerprint),
            .init(id: "p-eve", permission: .readOnly, subject: .init(.email, "eve@example.org", of: share)),
            .init(id: "p-slot", permission: .readWrite, subject: nil),
        ]
        func vector(_ name: String, _ statement: ShareStatement, _ sealed: SealedShareStatement, by signer: String)
            -> Vector
        {
            Vector(
                name,
                texts: place.merging([
                    "share": share.name, "root": statement.root ?? "", "signer": signer, "email": "eve@example.org",
                ]) { $1 },
                numbers: [
                    "epoch": 9, "counter": 3, "participants": UInt64(statement.participants.count),
                    "publicPermission": UInt64(statement.publicPermission.rawValue),
                ],
                bytes: [
                    "shareKey": shareKey.material.bytes, "ownerIdentity": owner.publicIdentity.bytes,
                    "statement": sealed.bytes,
                ])
        }
        func sealed(
            _ statement: ShareStatement, by signer: String, _ identity: AccountIdentity, _ right: ShareAuthority? = nil
        )
            throws -> SealedShareStatement
        {
            try SealedShareStatement(
                statement, counter: 3, under: shareKey, by: signer, with: identity, authority: right, random: random(6))
        }
        let byOwner = vector("by the owner", statement, try sealed(statement, by: "_ada", owner), by: "_ada")
        var whole = ShareStatement(of: share, root: nil)
        whole.directoryHead = .init(number: 77, hash: Array(repeating: 4, count: 32))
        let ofZone = vector("of a whole zone", whole, try sealed(whole, by: "_ada", owner), by: "_ada")
        let grant = try ShareGrant(of: share, epoch: 8, to: bob.publicIdentity, by: owner)
        let right = ShareAuthority(owner: owner.publicIdentity, grant: grant)
        let byBob = vector("by an administrator", statement, try sealed(statement, by: "_bob", bob, right), by: "_bob")
        return [
            byOwner, ofZone, byBob,
            byOwner.refused("another share") { $0.texts["share"] = "share-2" },
            byOwner.refused("another zone") { $0.texts["zone"] = "Other" },
            try byOwner.refused("the epoch was changed") { try $0.flip("statement", at: 4) },
            try byOwner.refused("the number was changed") { try $0.flip("statement", at: 12) },
            try byOwner.refused("the content was changed") { try $0.flip("statement", at: 60) },
            byOwner.refused("cut short") { $0.bytes["statement"]?.removeLast(2) },
            vector(
                "by another user under the owner's name", statement, try sealed(statement, by: "_ada", eve), by: "_ada"
            ).refused("by another user under the owner's name") { _ in },
            vector(
                "by a user with another's right", statement, try sealed(statement, by: "_eve", eve, right), by: "_eve"
            )
            .refused("by a user with another's right") { _ in },
        ]
    }

    /// Proofs that users have a link.
    func linkProofs() throws -> [Vector] {
        let link = ShareLinkSecret(key(14))
        let bob = try AccountSecret(bytes: Array(32..<64)).identity().publicIdentity
        let proof = Vector(
            "of a link", texts: place.merging(["share": share.name, "user": "_bob"]) { $1 },
            bytes: [
                "secret": key(14).bytes, "identity": bob.bytes,
                "proof": link.proof(of: "_bob", identity: bob.fingerprint, share: share),
            ])
        return [
            proof, proof.refused("another user") { $0.texts["user"] = "_eve" },
            proof.refused("another share") { $0.texts["share"] = "share-2" },
            proof.refused("another link") { $0.bytes["secret"] = self.key(15).bytes.hex },
        ]
    }
}
