/// The directory's answer about one address or user: an entry that its tree holds, or the proof that there is none.
package struct DirectoryProof: Hashable, Sendable {
    /// An entry with the values that open its commitment.
    package struct OpenedEntry: Hashable, Sendable {
        /// The version of the entry.
        package var version: UInt64
        /// The hash of the leaf of the previous version.
        package var previous: DirectoryHash
        /// The account's public identity; empty for an account that has no keys any more.
        package var identity: [UInt8]
        /// Opens the commitment to the entry.
        package var opening: [UInt8]
        /// The devices of the account.
        package var devices: Devices

        /// Creates an opened entry.
        package init(
            version: UInt64, previous: DirectoryHash, identity: [UInt8], opening: [UInt8], devices: Devices
        ) {
            self.version = version
            self.previous = previous
            self.identity = identity
            self.opening = opening
            self.devices = devices
        }

        var entry: DirectoryEntry {
            switch devices {
            case .hidden(let commitment): DirectoryEntry(identity: identity, devices: commitment)
            case .shown(let list, let opening):
                DirectoryEntry(identity: identity, devices: list.commitment(opening: opening))
            }
        }
    }

    /// The devices of an entry, as others and as the account itself see them.
    package enum Devices: Hashable, Sendable {
        case hidden(DirectoryHash)
        case shown(DirectoryDevices, opening: [UInt8])
    }

    /// The end of the way.
    package enum End: Hashable, Sendable {
        case emptyTree
        case otherLeaf(DirectoryLeaf)
        case entry(OpenedEntry)
    }

    /// The proof of the index, by the verifiable random function.
    package var indexProof: [UInt8]
    /// The way to the end.
    package var path: PrefixPath
    /// The entry, or what is found in its place.
    package var end: End

    /// Creates a proof.
    package init(indexProof: [UInt8], path: PrefixPath, end: End) {
        self.indexProof = indexProof
        self.path = path
        self.end = end
    }

    /// Verifies the proof for an address or user.
    ///
    /// - Parameters:
    ///   - root: Of a head that was verified.
    ///   - functionKey: The directory's key for indices.
    /// - Returns: The entry; nil: the directory has none.
    package func verify(
        _ label: DirectoryLabel, root: DirectoryHash, functionKey: [UInt8]
    ) throws(DirectoryError) -> OpenedEntry? {
        let index = try label.index(proof: indexProof, functionKey: functionKey)
        switch end {
        case .emptyTree:
            guard path.steps.isEmpty, root == PrefixTree.emptyRoot else { throw .wrongRoot }
            return nil
        case .otherLeaf(let leaf):
            guard leaf.index != index, path.root(from: leaf.hash, at: index) == root else { throw .wrongRoot }
            return nil
        case .entry(let entry):
            let leaf = DirectoryLeaf(
                index: index, version: entry.version, previous: entry.previous,
                commitment: entry.entry.commitment(version: entry.version, opening: entry.opening))
            guard path.root(from: leaf.hash, at: index) == root else { throw .wrongRoot }
            return entry
        }
    }

    // MARK: Bytes

    /// The encoded form of docs/directory.md.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = [1]
        bytes += indexProof
        bytes += path.bytes
        switch end {
        case .emptyTree: bytes.append(0)
        case .otherLeaf(let leaf):
            bytes.append(1)
            bytes += leaf.bytes
        case .entry(let entry):
            if case .hidden = entry.devices { bytes.append(2) } else { bytes.append(3) }
            bytes.appendBigEndian(entry.version)
            bytes += entry.previous.bytes
            bytes.appendBigEndian(UInt16(entry.identity.count))
            bytes += entry.identity
            bytes += entry.opening
            switch entry.devices {
            case .hidden(let commitment): bytes += commitment.bytes
            case .shown(let devices, let opening):
                bytes += opening
                bytes.appendBigEndian(UInt16(devices.list.count))
                for device in devices.list {
                    bytes += device.id.bytes
                    bytes.appendBigEndian(device.created)
                }
            }
        }
        return bytes
    }

    /// Reads the encoded form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        var reader = DirectoryReader(bytes, of: "proof")
        guard try reader.takeByte() == 1 else { throw reader.malformed }
        indexProof = try reader.take(VerifiableRandomFunction.proofByteCount)
        path = try PrefixPath(&reader)
        let kind = try reader.takeByte()
        switch kind {
        case 0: end = .emptyTree
        case 1: end = .otherLeaf(try DirectoryLeaf(&reader))
        case 2, 3:
            let version = try reader.takeNumber()
            let previous = try reader.takeHash()
            let count = try reader.takeCount()
            guard count <= DirectoryEntry.identityBytesMax else { throw reader.malformed }
            let identity = try reader.take(count)
            let opening = try reader.take(DirectoryHash.byteCount)
            let devices: Devices =
                kind == 2 ? .hidden(try reader.takeHash()) : try Self.takeDevices(from: &reader)
            end = .entry(
                OpenedEntry(
                    version: version, previous: previous, identity: identity, opening: opening, devices: devices))
        default: throw reader.malformed
        }
        try reader.finish()
    }

    private static func takeDevices(from reader: inout DirectoryReader) throws(DirectoryError) -> Devices {
        let opening = try reader.take(DirectoryHash.byteCount)
        let count = try reader.takeCount()
        guard count <= DirectoryDevices.countMax else { throw reader.malformed }
        var devices: [DirectoryDevice] = []
        for _ in 0..<count {
            devices.append(DirectoryDevice(hash: try reader.takeHash(), created: try reader.takeNumber()))
        }
        return .shown(DirectoryDevices(devices), opening: opening)
    }
}

extension DirectoryLeaf {
    /// Index, version, previous hash and commitment: 104 bytes.
    package var bytes: [UInt8] {
        var bytes = index.bytes
        bytes.appendBigEndian(version)
        return bytes + previous.bytes + commitment.bytes
    }

    init(_ reader: inout DirectoryReader) throws(DirectoryError) {
        self.init(
            index: try reader.takeIndex(), version: try reader.takeNumber(), previous: try reader.takeHash(),
            commitment: try reader.takeHash())
    }

    /// Reads the encoded form.
    package init(bytes: [UInt8]) throws(DirectoryError) {
        var reader = DirectoryReader(bytes, of: "leaf")
        try self.init(&reader)
        try reader.finish()
    }
}
