@testable import CloudKitEncryption

extension VectorMaker {
    /// Newly sealed on every call; for writing the file.
    func keyApprovals() throws -> [Vector] {
        let request = try KeyRequest(random: random(11))
        let answer = [UInt8](repeating: 12, count: 32)
        let approval = try KeyApproval(
            device: "new-device", approver: "old-device", commitment: request.commitment, publicKey: request.publicKey,
            nonce: request.nonce, answer: answer, secret: secret)
        let first = Vector(
            "an approval",
            texts: [
                "device": approval.device, "approver": approval.approver, "code": approval.code,
                "confirmation": approval.confirmation,
            ],
            bytes: [
                "privateKey": Array(request.privateKey.rawRepresentation), "publicKey": request.publicKey,
                "nonce": request.nonce, "commitment": request.commitment, "answer": answer,
                "identity": try secret.identity().publicIdentity.bytes, "secret": secret.bytes,
                "sealed": try approval.seal(secret), "receipt": approval.receipt(secret),
            ])
        let other = try AccountSecret(bytes: Array(32..<64))
        let others = try other.identity().publicIdentity.bytes
        let ofOther = try approval.seal(other)
        return [
            first,
            first.refused("another device") { $0.texts["device"] = "device" },
            first.refused("another approving device") { $0.texts["approver"] = "device" },
            try first.refused("another answer") { try $0.flip("answer", at: 0) },
            try first.refused("another commitment") { try $0.flip("commitment", at: 0) },
            first.refused("another account") { $0.bytes["identity"] = others.hex },
            first.refused("the secret of another account") { $0.bytes["sealed"] = ofOther.hex },
            try first.refused("another version") { try $0.flip("sealed", at: 0) },
            try first.refused("the encapsulated key was changed") { try $0.flip("sealed", at: 10) },
            try first.refused("the sealed secret was changed") { try $0.flip("sealed", at: 60) },
            first.refused("cut short") { $0.bytes["sealed"]?.removeLast(2) },
            first.refused("something was added") { $0.bytes["sealed"]? += "00" },
        ]
    }

    /// Opens a vector as the new device, and makes its codes as both devices.
    static func opens(keyApproval vector: Vector) throws -> Bool {
        let byte = try vector.bytes("privateKey")[0]
        let request = try KeyRequest(random: VectorMaker().random(byte))
        let answer = try vector.bytes("answer")
        let asking = try KeyApproval(
            of: request, device: vector.text("device"), approver: vector.text("approver"), answer: answer,
            identity: PublicIdentity(bytes: vector.bytes("identity")))
        let secret = try asking.open(vector.bytes("sealed"), with: request)
        let approving = try KeyApproval(
            device: vector.text("device"), approver: vector.text("approver"), commitment: vector.bytes("commitment"),
            publicKey: vector.bytes("publicKey"), nonce: vector.bytes("nonce"), answer: answer, secret: secret)
        let codes = [asking, approving].map { [$0.code, $0.confirmation] }
        let wanted = [try vector.text("code"), try vector.text("confirmation")]
        return try codes == [wanted, wanted] && secret.bytes == vector.bytes("secret")
            && asking.receipt(secret) == vector.bytes("receipt")
    }
}
