import CloudKitDevice
import Crypto
import Foundation
import TextEncodings

/// The folder of an export while it is written: mode 0700, and nothing in it is replaced.
struct ExportFolder: Sendable {
    let path: String

    /// Creates the folder.
    ///
    /// - Throws: `ArchiveError.folderExists`, `.fileFailed`.
    init(new path: String) throws(ArchiveError) {
        self.path = path
        guard mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else { throw .fileFailed(path: path, FileFailure("make the folder", errno)) }
            throw .folderExists(path)
        }
        try makeFolder(ExportedAsset.folder)
        try makeFolder(Self.containers)
    }

    /// The folder of the folders of all containers.
    static let containers = "containers"

    /// Creates a folder in the export.
    func makeFolder(_ name: String) throws(ArchiveError) {
        guard mkdir(path + "/" + name, 0o700) == 0 else {
            throw .fileFailed(path: name, FileFailure("make the folder", errno))
        }
    }

    /// Writes the table of contents, with which the export is finished.
    func write(_ manifest: ExportManifest) throws(ArchiveError) {
        try write(manifest, to: ExportManifest.file)
        unlink(path + "/" + ExportOutline.file)
    }

    /// Writes where the records will be.
    func write(_ outline: ExportOutline) throws(ArchiveError) { try write(outline, to: ExportOutline.file) }

    private func write(_ value: some Encodable, to name: String) throws(ArchiveError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            try PrivateFile.replace(path + "/" + name, with: Array(try encoder.encode(value)) + [0x0A])
        } catch let failure as FileFailure {
            throw .fileFailed(path: name, failure)
        } catch {
            throw .manifestUnreadable("\(error)")
        }
    }

    /// Takes a file from the folder of an earlier export.
    ///
    /// - Returns: Whether it is new here; nil: it is missing there, or has other bytes than its name says.
    func take(_ asset: ExportedAsset, from earlier: String) throws(ArchiveError) -> Bool? {
        let source = earlier + "/" + asset.path
        guard let digest = try? FileDigest(source), digest.sha256 == asset.sha256, digest.bytes == asset.size else {
            return nil
        }
        // One file for both folders where the disk allows it: nothing writes to it any more.
        if link(source, path + "/" + asset.path) == 0 { return true }
        return try add(source).isNew
    }

    /// Copies a fetched file into the folder of assets, under its digest; a file that is there already is not copied again.
    ///
    /// - Parameter source: The path of the file.
    /// - Returns: The file in the export, and whether it is new there.
    func add(_ source: String) throws(ArchiveError) -> (asset: ExportedAsset, isNew: Bool) {
        let digest = try FileDigest(source)
        let asset = ExportedAsset(sha256: digest.sha256, size: digest.bytes)
        let target = path + "/" + asset.path
        if FileManager.default.fileExists(atPath: target) { return (asset, false) }
        do {
            try FileManager.default.copyItem(atPath: source, toPath: target)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: target)
        } catch {
            throw .fileFailed(path: asset.path, FileFailure("copy the file", errno))
        }
        return (asset, true)
    }
}
