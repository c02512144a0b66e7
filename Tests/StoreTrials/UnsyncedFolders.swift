import FileStore
import SeededChance

/// Folders and files as a disk holds them: what was synced, and changes that may or may not have reached it.
///
/// Nothing is assumed of the file system but that a change of names reaches the disk as a whole or not at all, and that it has reached it
/// when a folder that it concerns was synced.
struct UnsyncedFolders {
    private struct File {
        var bytes: [UInt8] = []
        var pending: [FileChange] = []
    }

    private enum NameChange {
        case folder(String)
        case noFolder(String)
        case named(String, file: Int)
        case moved(from: String, to: String, file: Int)
        case deleted(String, file: Int)

        var folders: Set<String> {
            switch self {
            case .folder(let path), .noFolder(let path), .named(let path, _), .deleted(let path, _):
                [UnsyncedFolders.parent(path)]
            case .moved(let path, let other, _): [UnsyncedFolders.parent(path), UnsyncedFolders.parent(other)]
            }
        }
    }

    /// Names of files and folders, and the files that they lead to.
    struct Names {
        fileprivate(set) var folders: Set<String> = []
        fileprivate(set) var files: [String: Int] = [:]
    }

    private enum Fate: CaseIterable {
        case kept, dropped, eitherWay, torn
    }

    private static let sectorBytes = 512

    private let root: String
    private var contents: [File] = []
    /// As programs see them.
    private var names = Names()
    private var durable = Names()
    private var pending: [NameChange] = []

    /// - Parameter root: A folder that is there, durably.
    init(root: String) {
        self.root = root
        names.folders = [root]
        durable.folders = [root]
    }

    mutating func apply(_ change: FileChange) {
        switch change {
        case .madeFolder(let path): note(.folder(path))
        case .removedFolder(let path): note(.noFolder(path))
        case .created(let path):
            if names.files[path] != nil { return }
            contents.append(File())
            note(.named(path, file: contents.count - 1))
        case .wrote(let path, _, _), .shortened(let path, _):
            if let file = names.files[path] { contents[file].pending.append(change) }
        case .renamed(let path, let other):
            if let file = names.files[path] { note(.moved(from: path, to: other, file: file)) }
        case .deleted(let path):
            if let file = names.files[path] { note(.deleted(path, file: file)) }
        case .synchronized(let path):
            if let file = names.files[path] { return syncFile(file) }
            for change in pending where change.folders.contains(path) { Self.apply(change, to: &durable) }
            pending.removeAll { $0.folders.contains(path) }
        }
    }

    private mutating func note(_ change: NameChange) {
        Self.apply(change, to: &names)
        pending.append(change)
    }

    private mutating func syncFile(_ file: Int) {
        for change in contents[file].pending { Self.apply(change, to: &contents[file].bytes) }
        contents[file].pending = []
    }

    /// The folders, and the files with their contents, after the power has gone.
    func afterPowerCut(_ generator: inout SplitMix64) -> (folders: [String], files: [String: [UInt8]]) {
        let nameFate = Fate.allCases.randomElement(using: &generator) ?? .kept
        var left = durable
        for change in pending {
            switch nameFate {
            case .dropped: continue
            case .kept: break
            case .eitherWay, .torn: if Bool.random(using: &generator) { continue }
            }
            Self.apply(change, to: &left)
        }
        let fate = Fate.allCases.randomElement(using: &generator) ?? .torn
        var files: [String: [UInt8]] = [:]
        for (path, file) in left.files.sorted(by: { $0.key < $1.key }) where left.folders.contains(Self.parent(path)) {
            files[path] = content(contents[file], fate, &generator)
        }
        var folders: Set<String> = []
        // Shorter names first: parents before what is in them.
        for path in left.folders.sorted(by: { $0.count < $1.count })
        where path == root || folders.contains(Self.parent(path)) {
            folders.insert(path)
        }
        return (folders.sorted(), files.filter { folders.contains(Self.parent($0.key)) })
    }

    private func content(_ file: File, _ fate: Fate, _ generator: inout SplitMix64) -> [UInt8] {
        var bytes = file.bytes
        for change in file.pending {
            switch (fate, change) {
            case (.dropped, _): break
            case (.torn, .wrote(let path, let offset, let written)):
                for start in stride(from: 0, to: written.count, by: Self.sectorBytes)
                where Bool.random(using: &generator) {
                    let part = Array(written[start..<min(written.count, start + Self.sectorBytes)])
                    Self.apply(.wrote(path, offset: offset + Int64(start), bytes: part), to: &bytes)
                }
            case (.kept, _): Self.apply(change, to: &bytes)
            default: if Bool.random(using: &generator) { Self.apply(change, to: &bytes) }
            }
        }
        return bytes
    }

    private static func apply(_ change: FileChange, to bytes: inout [UInt8]) {
        switch change {
        case .wrote(_, let offset, let written):
            let end = Int(offset) + written.count
            if end > bytes.count { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            bytes.replaceSubrange(Int(offset)..<end, with: written)
        case .shortened(_, let length): if Int(length) < bytes.count { bytes.removeLast(bytes.count - Int(length)) }
        default: break
        }
    }

    private static func apply(_ change: NameChange, to names: inout Names) {
        switch change {
        case .folder(let path): names.folders.insert(path)
        case .noFolder(let path): names.folders.remove(path)
        case .named(let path, let file): names.files[path] = file
        case .moved(let path, let other, let file):
            if names.files[path] == file { names.files[path] = nil }
            names.files[other] = file
        case .deleted(let path, let file): if names.files[path] == file { names.files[path] = nil }
        }
    }

    fileprivate static func parent(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }
}
