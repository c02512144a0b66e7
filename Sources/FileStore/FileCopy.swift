/// Copies the sealed files of one store of files into another. Drafts are not copied: their uploads begin again.
package struct FileCopy: Sendable {
    /// What a copy did.
    package struct Summary: Hashable, Sendable {
        /// The files of the source.
        package var fileCount = 0
        /// Their bytes.
        package var byteCount: Int64 = 0
        /// The files that the target did not have.
        package var copiedCount = 0

        /// Creates a count of no files.
        package init() {}

        /// Adds another count.
        package static func += (left: inout Summary, right: Summary) {
            left.fileCount += right.fileCount
            left.byteCount += right.byteCount
            left.copiedCount += right.copiedCount
        }
    }

    private let source: any FileStore
    private let target: any FileStore

    private static let chunkBytes = 1 << 20

    /// Creates a copy from one store of files to another.
    package init(from source: any FileStore, to target: any FileStore) {
        self.source = source
        self.target = target
    }

    /// Copies the files of one of the 256 folders that the target does not have: each is complete there or absent.
    ///
    /// - Throws: `FileStoreError`: `damaged` for a file that is shorter than its store says.
    package func run(inFolder folder: UInt8) async throws -> Summary {
        var summary = Summary()
        for entry in try await source.files(inFolder: folder) {
            summary.fileCount += 1
            summary.byteCount += entry.length
            if let length = try await target.length(of: entry.id) {
                if length == entry.length { continue }
                try await target.delete(entry.id)
            }
            if try await copy(entry) { summary.copiedCount += 1 }
        }
        return summary
    }

    /// - Returns: false: the file was deleted meanwhile.
    private func copy(_ entry: FileEntry) async throws -> Bool {
        // An earlier copy that was interrupted may have left its beginning.
        if try await target.draftLength(of: entry.id) != nil { try await target.delete(entry.id) }
        var copied: Int64 = 0
        while copied < entry.length {
            let count = Int(min(Int64(Self.chunkBytes), entry.length - copied))
            let bytes: [UInt8]
            do {
                bytes = try await source.read(entry.id, at: copied, count: count)
            } catch let error as FileStoreError where error.code == .missing {
                try await target.delete(entry.id)
                return false
            }
            guard bytes.count == count else {
                throw FileStoreError(.damaged, "copy a file", detail: "file \(entry.id.name) is shorter than it was")
            }
            try await target.append(bytes, to: entry.id, at: copied)
            copied += Int64(count)
        }
        try await target.seal(entry.id)
        return true
    }
}
