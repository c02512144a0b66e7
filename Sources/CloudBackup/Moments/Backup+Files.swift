import Foundation

extension Backup {
    /// Returns the bytes of a list of files.
    static func listing(_ files: [BackupFile]) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(files))
    }

    /// Returns the files of a list.
    func files(_ listing: BackupContent) throws(BackupError) -> [BackupFile] {
        let bytes = try bytes(of: listing)
        guard let files = try? JSONDecoder().decode([BackupFile].self, from: Data(bytes)) else {
            throw .damaged("a list of files", "its form is not known")
        }
        return files
    }
}
