import CloudKitDevice
import CloudKitModel
import Foundation

/// An export that is read and checked.
package struct ExportReader: Sendable {
    /// The table of contents.
    package let manifest: ExportManifest
    private let path: String

    /// Opens an export.
    ///
    /// - Parameter path: The folder.
    /// - Throws: `ArchiveError.notAnExport`, `.manifestUnreadable`, `.versionUnknown`, `.damaged` for paths outside of the folder.
    package init(_ path: String) throws(ArchiveError) {
        self.path = path
        let found: [UInt8]?
        do throws(FileFailure) {
            found = try PrivateFile.read(path + "/" + ExportManifest.file)
        } catch {
            throw .fileFailed(path: path + "/" + ExportManifest.file, error)
        }
        guard let bytes = found else { throw .notAnExport(path) }
        do {
            let format = try JSONDecoder().decode(Format.self, from: Data(bytes)).format
            guard (1...ExportManifest.formatNewest).contains(format) else { throw ArchiveError.versionUnknown(format) }
            manifest = try JSONDecoder().decode(ExportManifest.self, from: Data(bytes))
        } catch let error as ArchiveError {
            throw error
        } catch {
            throw .manifestUnreadable("it is not the JSON of an export")
        }
        for container in manifest.containers {
            guard Environment(rawValue: container.environment) != nil else {
                throw .damaged(file: ExportManifest.file, reason: "has an unknown environment")
            }
            for file in container.files where !Self.isInside(file.path) {
                throw .damaged(file: ExportManifest.file, reason: "names a file outside of the export")
            }
        }
    }

    private struct Format: Decodable {
        var format: Int
    }

    /// Returns whether a path leads into the folder.
    private static func isInside(_ path: String) -> Bool {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return !parts.isEmpty && parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }

    /// Checks every file of the export: its digest, each record, and the files of all assets.
    ///
    /// - Throws: `ArchiveError.damaged`, `.fileFailed`.
    package func check() throws(ArchiveError) {
        var checked: Set<ExportedAsset> = []
        for container in manifest.containers {
            for file in container.files {
                let digest = try digest(file.path)
                guard digest.bytes == file.bytes, digest.sha256 == file.sha256 else {
                    throw .damaged(file: file.path, reason: "has other bytes than the manifest says")
                }
            }
            for file in container.zones.map(\.file) + [container.publicRecords] {
                try readRecords(of: file) { (record, _) throws(ArchiveError) in
                    for asset in record.assets where !checked.contains(asset) {
                        let digest = try digest(asset.path)
                        guard digest.sha256 == asset.sha256, digest.bytes == asset.size else {
                            throw .damaged(file: asset.path, reason: "has other bytes than its name says")
                        }
                        checked.insert(asset)
                    }
                }
            }
        }
    }

    private func digest(_ file: String) throws(ArchiveError) -> FileDigest {
        guard FileManager.default.fileExists(atPath: url(of: file).path) else {
            throw .damaged(file: file, reason: "is missing")
        }
        return try FileDigest(url(of: file).path)
    }

    /// Returns the address of a file of the export.
    func url(of file: String) -> URL { URL(fileURLWithPath: path + "/" + file) }

    /// The place of a record's line in its file.
    struct Line: Hashable, Sendable {
        var offset: UInt64
        var length: Int
    }

    /// Reads the records of a file one after the other.
    ///
    /// - Parameter body: Receives each record and the place of its line.
    /// - Throws: `ArchiveError.damaged` for a line that is no record, and what `body` throws.
    func readRecords(
        of file: ExportedFile, _ body: (ExportedRecord, Line) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        try readLines(of: file) { (bytes, line) throws(ArchiveError) in
            try body(try Self.record(bytes, file), line)
        }
    }

    /// Reads the record at a place.
    func record(at line: Line, in file: ExportedFile, _ handle: FileHandle) throws(ArchiveError) -> ExportedRecord {
        do {
            try handle.seek(toOffset: line.offset)
            return try Self.record(Array(try handle.read(upToCount: line.length) ?? Data()), file)
        } catch let error as ArchiveError {
            throw error
        } catch {
            throw .fileFailed(path: file.path, FileFailure("read the file", errno))
        }
    }

    private static func record(_ bytes: [UInt8], _ file: ExportedFile) throws(ArchiveError) -> ExportedRecord {
        do {
            return try ExportedRecord(line: bytes)
        } catch {
            throw .damaged(file: file.path, reason: "has a line that is no record")
        }
    }

    /// Returns the shares of a file.
    ///
    /// - Throws: `ArchiveError.damaged`, `.fileFailed`.
    package func shares(of file: ExportedFile) throws(ArchiveError) -> [ExportedShare] {
        var shares: [ExportedShare] = []
        try readLines(of: file) { (bytes, _) throws(ArchiveError) in
            guard let share = try? JSONDecoder().decode(ExportedShare.self, from: Data(bytes)) else {
                throw .damaged(file: file.path, reason: "has a line that is no share")
            }
            shares.append(share)
        }
        return shares
    }

    private func readLines(
        of file: ExportedFile, _ body: ([UInt8], Line) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        guard let handle = FileHandle(forReadingAtPath: url(of: file.path).path) else {
            throw .damaged(file: file.path, reason: "is missing")
        }
        defer { try? handle.close() }
        var offset: UInt64 = 0
        var rest: [UInt8] = []
        while true {
            let piece: Data
            do {
                piece = try handle.read(upToCount: Self.pieceBytes) ?? Data()
            } catch {
                throw .fileFailed(path: file.path, FileFailure("read the file", errno))
            }
            if piece.isEmpty { break }
            rest += piece
            var start = 0
            while let end = rest[start...].firstIndex(of: 0x0A) {
                try body(Array(rest[start..<end]), Line(offset: offset + UInt64(start), length: end - start))
                start = end + 1
            }
            rest.removeFirst(start)
            offset += UInt64(start)
            guard rest.count <= Self.lineBytesMax else {
                throw .damaged(file: file.path, reason: "has a line that is too long")
            }
        }
        guard rest.isEmpty else { throw .damaged(file: file.path, reason: "ends in the middle of a line") }
    }

    private static let pieceBytes = 1 << 18
    /// More than any record takes.
    private static let lineBytesMax = 16 << 20
}
