import TextEncodings

/// The secret part of a share's link: `https://…/share/…#k=AX…`. What follows the `#` reaches no server (B-TM-07).
package struct ShareLinkSecret: Equatable, Sendable {
    private let secret: KeyMaterial

    /// A new link's.
    package init(random: Randomness = .system) { secret = random.key() }

    init(_ secret: KeyMaterial) { self.secret = secret }

    var material: KeyMaterial { secret }

    /// `k=` and base64url of version 1 and the secret's 32 bytes, without padding: 46 letters.
    package var fragment: String {
        "k=" + Base64URL.encode([1] + secret.bytes)
    }

    /// Reads a link's fragment, with or without the `#`; parameters other than `k` are ignored.
    ///
    /// - Throws: `noKey` if there is no `k`, `truncated` if the link was cut when it was copied.
    package init(fragment: String) throws(EncryptionError) {
        guard fragment.utf8.count <= 2048 else { throw .malformed(.link, reason: "it is too long") }
        let parameters = fragment.drop { $0 == "#" }.split(separator: "&")
        guard let text = parameters.first(where: { $0.hasPrefix("k=") })?.dropFirst(2) else { throw .noKey(.link) }
        guard !text.contains("=") else { throw .malformed(.link, reason: "its secret is no base64url") }
        // A count of 1 above a multiple of 4 is impossible: a letter was lost.
        guard text.count % 4 != 1 else { throw .truncated(.link) }
        guard let bytes = Base64URL.decode(String(text)) else {
            throw .malformed(.link, reason: "its secret is no base64url")
        }
        var reader = ByteReader(bytes, of: .link)
        try reader.takeVersion()
        secret = KeyMaterial(try reader.take(KeyMaterial.byteCount))
        try reader.finish()
        guard self.fragment.dropFirst(2) == text else { throw .malformed(.link, reason: "its secret is no base64url") }
    }

    /// Returns the share's key, wrapped for holders of the link: the cloud carries it as `link`, or as the `wrap` of a
    /// one-time link's participant slot.
    ///
    /// Version 2 (which distinguishes it from an invitation), epoch, nonce, ciphertext, tag: 65 bytes.
    /// - Parameter participant: The id of a one-time link's participant slot; nil for the link that any user may open.
    package func wrap(
        _ key: ShareKey, participant: String? = nil, random: Randomness = .system
    ) throws(EncryptionError) -> [UInt8] {
        var header: [UInt8] = [Self.version]
        header.appendBigEndian(key.epoch)
        return try wrappingKey.seal(
            key.material.bytes, header: header,
            authenticating: Self.place(key.place, key.epoch, participant: participant),
            item: .shareKey(share: key.place.name), random: random)
    }

    /// The share's key out of what `wrap` made.
    package func open(
        _ wrapped: [UInt8], share: RecordAddress, participant: String? = nil
    ) throws(EncryptionError) -> ShareKey {
        let item = EncryptionError.Item.shareKey(share: share.name)
        var reader = ByteReader(wrapped, of: item)
        try reader.takeVersion(Self.version)
        let epoch = try reader.takeNumber(UInt32.self)
        let material = try wrappingKey.unwrap(
            reader.takeRest(), authenticating: Self.place(share, epoch, participant: participant), item: item)
        return ShareKey(place: share, epoch: epoch, material: material)
    }

    /// Returns a proof that a user has the link, which the cloud keeps beside the user's participant slot: version 1 and 32 bytes.
    ///
    /// Only holders of the secret can make one, so that devices of owner and administrators give no key to a user of whom the
    /// cloud merely says that they joined by the link.
    /// - Parameters:
    ///   - user: The user record name.
    ///   - identity: The fingerprint of the identity that is to get keys.
    package func proof(of user: String, identity: Fingerprint, share: RecordAddress) -> [UInt8] {
        var info = Frame("welkin share link proof 1")
        info.append(share.frame)
        info.append(user)
        info.append(identity.bytes)
        return [1] + secret.derive(info).bytes
    }

    /// Returns a Boolean value that indicates whether a proof is the one that `proof` makes.
    package func isValid(
        _ proof: [UInt8], of user: String, identity: Fingerprint, share: RecordAddress
    ) -> Bool {
        let expected = self.proof(of: user, identity: identity, share: share)
        guard proof.count == expected.count else { return false }
        return zip(proof, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Returns a Boolean value that indicates whether a participant's `wrap` is of a one-time link, and not an
    /// invitation.
    package static func isLinkWrap(_ wrap: [UInt8]) -> Bool { wrap.first == version }

    private static let version: UInt8 = 2

    private var wrappingKey: KeyMaterial { secret.derive(Frame("welkin share link 1")) }

    private static func place(_ share: RecordAddress, _ epoch: UInt32, participant: String?) -> Frame {
        var frame = Frame("welkin share key for link 1")
        frame.append(share.frame)
        frame.append(epoch)
        frame.append(participant ?? "")
        return frame
    }
}

extension ContainerRoot {
    /// Returns the secret of the link to one of the account's own shares that any user may open; every device of the owner derives the same, in each epoch and
    /// whenever the root is shared, so that its URL stays (B-SHR-07).
    /// - Parameter root: The root of the tree as a statement confirms it, since the secret of another root opens that one's share; nil for the whole zone.
    package func linkSecret(of share: RecordAddress, root: String?) -> ShareLinkSecret {
        guard let root else { return linkSecret(of: share, participant: "") }
        var info = Frame("welkin tree link secret 1")
        info.append(RecordAddress(zone: share.zone, name: root).frame)
        return ShareLinkSecret(material.derive(info))
    }

    /// Returns the secret of the link of a share that has one.
    ///
    /// The secret of a tree that was shared before trees had secrets of their own belongs to the share.
    /// - Parameter wrapped: The key of the newest epoch, wrapped for holders of the link; nil: the link is closed, or new.
    package func linkSecret(of share: RecordAddress, root: String?, opening wrapped: [UInt8]?) -> ShareLinkSecret {
        let former = linkSecret(of: share, participant: "")
        if let wrapped, root != nil, (try? former.open(wrapped, share: share)) != nil { return former }
        return linkSecret(of: share, root: root)
    }

    /// Returns the secret of a one-time link to one of the account's own shares; every device of the owner derives the same, in each epoch.
    /// - Parameter participant: The id of the link's participant slot.
    package func linkSecret(of share: RecordAddress, participant: String) -> ShareLinkSecret {
        var info = Frame("welkin share link secret 1")
        info.append(share.frame)
        info.append(participant)
        return ShareLinkSecret(material.derive(info))
    }
}
