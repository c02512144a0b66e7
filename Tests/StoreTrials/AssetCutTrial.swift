import FileStore
import Foundation
import SeededChance
import Synchronization

/// Uploads whose changes to the disk are recorded, and the folder of files that a power cut at any moment of them leaves.
struct AssetCutTrial {
    /// How many cuts to try.
    var cutCount: Int
    var generator: SplitMix64

    /// The life of one file, in numbers of changes to the disk.
    private struct Life {
        let id: FileID
        var bytes: [UInt8] = []
        /// Lengths of the draft that were made durable, with when that was acknowledged.
        var synchronized: [(time: Int, length: Int)] = []
        var sealBegun = Int.max
        var sealed = Int.max
        var deletionBegun = Int.max
    }

    private struct Recording {
        var changes: [FileChange]
        var lives: [Life]
        var root: String
        /// The number of changes when the folder was first open.
        var opened: Int
    }

    private final class Recorder: Sendable {
        private let changes = Mutex<[FileChange]>([])
        var count: Int { changes.withLock { $0.count } }
        var all: [FileChange] { changes.withLock { $0 } }
        func note(_ change: FileChange) { changes.withLock { $0.append(change) } }
    }

    /// - Returns: Whether every folder was whole.
    mutating func run() async throws -> Bool {
        var isGood = true
        var done = 0
        while done < cutCount {
            let recording = try await record()
            let roundCount = min(cutCount - done, 4 * recording.changes.count)
            done += roundCount
            for _ in 0..<roundCount {
                alarm(60)
                let cut = Int.random(in: 0...recording.changes.count, using: &generator)
                for problem in try await problems(recording, cut) {
                    say("FAILED after \(cut) of \(recording.changes.count) changes: \(problem)")
                    isGood = false
                }
            }
        }
        say("power cuts of files: \(done)")
        return isGood
    }

    // MARK: The workload

    private mutating func record() async throws -> Recording {
        let root = Self.newFolder()
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let recorder = Recorder()
        let store = try FolderFileStore(root + "/assets", now: { 1 }, changed: recorder.note)
        let opened = recorder.count
        var lives: [Life] = []
        for number in 0..<24 {
            guard let id = Self.id(number, &generator) else { continue }
            var life = Life(id: id)
            try await upload(&life, to: store, recorder)
            lives.append(life)
            // Some go again, sealed or not.
            if number % 5 == 4 { try await delete(&lives[number - 2], from: store, recorder) }
        }
        return Recording(changes: recorder.all, lives: lives, root: root, opened: opened)
    }

    private mutating func upload(_ life: inout Life, to store: FolderFileStore, _ recorder: Recorder) async throws {
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let count = Int.random(in: 1...5000, using: &generator)
            let piece = (0..<count).map { _ in UInt8.random(in: 1...255, using: &generator) }
            try await store.append(piece, to: life.id, at: Int64(life.bytes.count))
            life.bytes += piece
            if Bool.random(using: &generator) {
                try await store.synchronize(life.id)
                life.synchronized.append((recorder.count, life.bytes.count))
            }
        }
        if Int.random(in: 0..<4, using: &generator) == 0 { return }
        life.sealBegun = recorder.count
        try await store.seal(life.id)
        life.sealed = recorder.count
    }

    private func delete(_ life: inout Life, from store: FolderFileStore, _ recorder: Recorder) async throws {
        life.deletionBegun = recorder.count
        try await store.delete(life.id)
    }

    // MARK: The replay

    private mutating func problems(_ recording: Recording, _ cut: Int) async throws -> [String] {
        var disk = UnsyncedFolders(root: recording.root)
        for change in recording.changes[..<cut] { disk.apply(change) }
        let left = disk.afterPowerCut(&generator)
        let root = Self.newFolder()
        defer { try? FileManager.default.removeItem(atPath: root) }
        func moved(_ path: String) -> String { root + path.dropFirst(recording.root.count) }
        for folder in left.folders {
            try FileManager.default.createDirectory(atPath: moved(folder), withIntermediateDirectories: true)
        }
        for (path, bytes) in left.files { try Data(bytes).write(to: URL(fileURLWithPath: moved(path))) }
        let store = try FolderFileStore(root + "/assets", now: { 1 })
        var problems: [String] = []
        for life in recording.lives { problems += try await Self.problems(life, cut, store) }
        try await Self.checkUse(of: store, recording.lives[0].id, &problems)
        return problems
    }

    private static func problems(_ life: Life, _ cut: Int, _ store: FolderFileStore) async throws -> [String] {
        if let length = try await store.length(of: life.id) {
            let bytes = try await store.read(life.id, at: 0, count: Int(length))
            if bytes != life.bytes || life.sealBegun > cut { return ["a sealed file is not what was uploaded"] }
            return []
        }
        if life.deletionBegun <= cut { return [] }
        if life.sealed <= cut { return ["a sealed file is lost"] }
        guard life.sealBegun > cut, let durable = life.synchronized.last(where: { $0.time <= cut }) else { return [] }
        let draft = try await store.readDraft(life.id, ifAny: durable.length)
        return draft == Array(life.bytes[..<durable.length]) ? [] : ["a part that was made durable is lost"]
    }

    /// After the power is back, files can be uploaded and sealed.
    private static func checkUse(of store: FolderFileStore, _ id: FileID, _ problems: inout [String]) async throws {
        try await store.delete(id)
        try await store.append([1, 2, 3], to: id, at: 0)
        try await store.seal(id)
        if try await store.read(id, at: 0, count: 3) != [1, 2, 3] { problems.append("the folder cannot be used") }
    }

    private static func newFolder() -> String {
        URL(fileURLWithPath: NSTemporaryDirectory()).resolvingSymlinksInPath().path + "/asset-trial-"
            + UUID().uuidString
    }

    private static func id(_ number: Int, _ generator: inout SplitMix64) -> FileID? {
        // Few folders, so that some are shared and some are new.
        FileID(bytes: (0..<15).map { _ in UInt8.random(in: 0...255, using: &generator) } + [UInt8(number % 6)])
    }
}

extension FolderFileStore {
    /// The beginning of a draft; empty if there is none.
    fileprivate func readDraft(_ id: FileID, ifAny count: Int) async throws -> [UInt8] {
        try await draftLength(of: id) == nil ? [] : readDraft(id, at: 0, count: count)
    }
}
