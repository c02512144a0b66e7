import CloudKitRecordLayer
import IdentityDirectory

/// The keys and values of the partition that holds the directory. They are stored: they never change.
enum DirectoryRows {
    static let partition = StoragePartition("directory")
    static let state = Array("state".utf8)

    static func node(_ key: PrefixNode.Key) -> StorageBytes { Array("node/".utf8) + key.bytes }
    static func entry(_ index: DirectoryIndex) -> StorageBytes { Array("entry/".utf8) + index.bytes }
    static func indexProof(_ label: DirectoryLabel) -> StorageBytes { Array("index/".utf8) + label.input }
    static func head(_ number: UInt64) -> StorageBytes { Array("head/".utf8) + number.bigEndianBytes }

    static func log(_ position: HeadLog.Position) -> StorageBytes {
        Array("log/".utf8) + [UInt8(position.level)] + position.index.bigEndianBytes
    }

    static func update(_ head: UInt64, _ position: Int) -> StorageBytes {
        updates(head) + UInt64(position).bigEndianBytes
    }

    static func updates(_ head: UInt64) -> StorageBytes { Array("update/".utf8) + head.bigEndianBytes }
}

extension UInt64 {
    fileprivate var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

    fileprivate init(bigEndianBytes bytes: some Sequence<UInt8>) { self = bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The newest state of the directory.
struct DirectoryState: Hashable, Sendable {
    /// The number of the next head.
    var next: UInt64 = 0
    /// The number of entries.
    var count: UInt64 = 0
    /// The root of the tree; nil for an empty one.
    var root: PrefixNode.Child?

    init() {}

    init(bytes: StorageBytes) throws {
        next = UInt64(bigEndianBytes: bytes.prefix(8))
        count = UInt64(bigEndianBytes: bytes.dropFirst(8).prefix(8))
        let rest = Array(bytes.dropFirst(16))
        root = rest.isEmpty ? nil : try PrefixNode.Child(bytes: rest)
    }

    var bytes: StorageBytes { next.bigEndianBytes + count.bigEndianBytes + (root?.bytes ?? []) }
}

/// The newest version of an entry.
struct StoredDirectoryEntry: Hashable, Sendable {
    var leaf: DirectoryLeaf
    var contents: DirectoryContents

    init(leaf: DirectoryLeaf, contents: DirectoryContents) {
        self.leaf = leaf
        self.contents = contents
    }

    init(bytes: StorageBytes) throws {
        leaf = try DirectoryLeaf(bytes: Array(bytes.prefix(104)))
        let identityCount = Int(UInt64(bigEndianBytes: bytes.dropFirst(104).prefix(8)))
        let identity = Array(bytes.dropFirst(112).prefix(identityCount))
        var rest = bytes.dropFirst(112 + identityCount)
        var devices: [DirectoryDevice] = []
        while rest.count >= 40, let hash = DirectoryHash(rest.prefix(32)) {
            devices.append(DirectoryDevice(hash: hash, created: UInt64(bigEndianBytes: rest.dropFirst(32).prefix(8))))
            rest = rest.dropFirst(40)
        }
        contents = DirectoryContents(identity: identity, devices: DirectoryDevices(devices))
    }

    var bytes: StorageBytes {
        leaf.bytes + UInt64(contents.identity.count).bigEndianBytes + contents.identity
            + contents.devices.list.flatMap { $0.id.bytes + $0.created.bigEndianBytes }
    }
}

/// The facts about an account that the directory holds.
struct DirectoryContents: Hashable, Sendable {
    /// Empty for an account without keys.
    var identity: [UInt8] = []
    var devices = DirectoryDevices([])
}
