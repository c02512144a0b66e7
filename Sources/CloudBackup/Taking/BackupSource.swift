/// One state of a store's file, which stays as it is while it is read.
package protocol StoreImage {
    /// The number of bytes.
    var byteCount: Int64 { get }
    /// What the store says about the state.
    var facts: StoreFacts { get }

    /// Returns the bytes from an offset on, as many as asked for.
    func bytes(at offset: Int64, count: Int) throws -> [UInt8]
}

/// The files of a data folder beside the store.
package struct BackupSource {
    /// The data folder.
    package var folder: String
    /// A path below the folder, with folders of files that never change and that are not removed while the moment is taken.
    package var immutableFiles: String
    /// Names of further files in the folder.
    package var files: [String]

    /// Creates a value with the given properties.
    package init(folder: String, immutableFiles: String, files: [String]) {
        self.folder = folder
        self.immutableFiles = immutableFiles
        self.files = files
    }
}
