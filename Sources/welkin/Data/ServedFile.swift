import CloudKitDevice

/// The file beside the store that says which state of it was served last, so that an older copy of the store is noticed.
///
/// The mark in the store is always advanced first, so the file never claims more than the store holds.
struct ServedFile: Hashable {
    /// The number that the store and all its copies share.
    var storeID: UInt64
    var epoch: UInt64
    /// The mark of the state.
    var mark: UInt64

    private static let title = "welkin served 1"

    private static func path(in folder: String) -> String { folder + "/served" }

    /// Reads the file of a folder; nil if there is none that can be read.
    static func read(in folder: String) throws -> ServedFile? {
        guard let bytes = try PrivateFile.read(path(in: folder)) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        guard lines.count == 4, lines[0] == title, let store = number(lines[1], "store "),
            let epoch = number(lines[2], "epoch "), let mark = number(lines[3], "mark ")
        else { return nil }
        return ServedFile(storeID: store, epoch: epoch, mark: mark)
    }

    /// Replaces the file of a folder, durable on return.
    func write(in folder: String) throws {
        let lines = [
            Self.title, "store " + storeID.hexadecimal, "epoch " + epoch.hexadecimal, "mark " + mark.hexadecimal,
        ]
        try PrivateFile.replace(Self.path(in: folder), with: Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    private static func number(_ line: String, _ name: String) -> UInt64? {
        line.hasPrefix(name) ? UInt64(line.dropFirst(name.count), radix: 16) : nil
    }
}

extension UInt64 {
    fileprivate var hexadecimal: String { String(self, radix: 16) }
}
