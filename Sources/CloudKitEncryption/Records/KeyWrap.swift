/// A record's key under another key; part of the record's protection.
package struct KeyWrap: Hashable, Sendable {
    /// Which key opens it.
    package enum Opener: Hashable, Sendable {
        /// The key that the parent has in this epoch.
        case parent(record: String, epoch: UInt32)
        /// A share's key.
        case share(record: String, epoch: UInt32)
        /// This record's present key opens the one it had in an earlier epoch, in which children may still be wrapped.
        case present(earlier: UInt32)
        /// The zone's owner, by their agreement key: for a key that a member makes under a share's key that is not the owner's.
        case owner
    }

    /// The key under which the record's key is wrapped.
    package let opener: Opener
    /// Nonce, ciphertext and tag: 60 bytes. For the owner, encapsulated key, ciphertext and tag: 80.
    let bytes: [UInt8]

    /// Binds a wrap to the record, its epoch and the opener.
    static func frame(_ place: RecordAddress, epoch: UInt32, opener: Opener) -> Frame {
        var frame = Frame("welkin record key wrap 1")
        frame.append(place.frame)
        frame.append(epoch)
        frame.append([opener.kind])
        switch opener {
        case .parent(let record, let epoch), .share(let record, let epoch):
            frame.append(record)
            frame.append(epoch)
        case .present(let earlier): frame.append(earlier)
        case .owner: break
        }
        return frame
    }
}

extension KeyWrap.Opener {
    var kind: UInt8 {
        switch self {
        case .parent: 1
        case .share: 2
        case .present: 3
        case .owner: 4
        }
    }

    fileprivate init(kind: UInt8, from reader: inout ByteReader) throws(EncryptionError) {
        switch kind {
        case 1: self = .parent(record: try reader.takeName(), epoch: try reader.takeNumber())
        case 2: self = .share(record: try reader.takeName(), epoch: try reader.takeNumber())
        case 3: self = .present(earlier: try reader.takeNumber())
        case 4: self = .owner
        default: throw .malformed(.protection, reason: "a wrap of unknown kind")
        }
    }

    fileprivate func write(to bytes: inout [UInt8]) {
        bytes.append(kind)
        switch self {
        case .parent(let record, let epoch), .share(let record, let epoch):
            bytes.appendBigEndian(UInt16(record.utf8.count))
            bytes.append(contentsOf: record.utf8)
            bytes.appendBigEndian(epoch)
        case .present(let earlier): bytes.appendBigEndian(earlier)
        case .owner: break
        }
    }

    fileprivate var wrappedByteCount: Int {
        switch self {
        case .parent, .share, .present: KeyMaterial.wrappedByteCount
        case .owner: OwnerWrap.byteCount
        }
    }
}

extension KeyWrap {
    init(from reader: inout ByteReader) throws(EncryptionError) {
        opener = try Opener(kind: reader.takeNumber(), from: &reader)
        bytes = Array(try reader.take(opener.wrappedByteCount))
    }

    func write(to output: inout [UInt8]) {
        opener.write(to: &output)
        output.append(contentsOf: bytes)
    }
}
