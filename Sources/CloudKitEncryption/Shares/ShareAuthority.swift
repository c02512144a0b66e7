import Crypto
import Foundation

/// The owner's signature that makes an account an administrator of a share.
struct ShareGrant: Hashable, Sendable {
    /// The share's epoch in which it was given. When the owner starts an epoch, grants of earlier ones are void.
    let epoch: UInt32
    let signature: [UInt8]

    init(epoch: UInt32, signature: [UInt8]) {
        self.epoch = epoch
        self.signature = signature
    }

    init(of share: RecordAddress, epoch: UInt32, to identity: PublicIdentity, by owner: AccountIdentity) throws {
        self.epoch = epoch
        signature = Array(try owner.signing.signature(for: Self.message(share, epoch, to: identity)))
    }

    func isValid(of share: RecordAddress, to identity: PublicIdentity, by owner: PublicIdentity) -> Bool {
        owner.signing.isValidSignature(signature, for: Self.message(share, epoch, to: identity))
    }

    private static func message(_ share: RecordAddress, _ epoch: UInt32, to identity: PublicIdentity) -> [UInt8] {
        var frame = Frame("welkin share administrator 1")
        frame.append(share.frame)
        frame.append(epoch)
        frame.append(identity.keyBytes)
        return frame.bytes
    }
}

/// By what right an administrator invites: the owner's identity, and the grant that the owner signed.
package struct ShareAuthority: Hashable, Sendable {
    /// The public identity of the share's owner.
    package let owner: PublicIdentity
    let grant: ShareGrant

    init(owner: PublicIdentity, grant: ShareGrant) {
        self.owner = owner
        self.grant = grant
    }

    /// Owner's identity (129), epoch (4), signature (64).
    init(from reader: inout ByteReader) throws(EncryptionError) {
        owner = try PublicIdentity(bytes: Array(reader.take(PublicIdentity.byteCount)))
        grant = ShareGrant(epoch: try reader.takeNumber(), signature: Array(try reader.take(64)))
    }

    var bytes: [UInt8] {
        var bytes = owner.bytes
        bytes.appendBigEndian(grant.epoch)
        return bytes + grant.signature
    }
}
