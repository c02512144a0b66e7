import FileStore

/// The store of files as the rules see it. They name these words only, so that no engine's module is ever theirs.
package typealias Files = any FileStore
/// The name of an asset's file.
package typealias AssetFileID = FileID
/// A failure of the file store.
package typealias FilesError = FileStoreError
/// A file as the store lists it.
package typealias StoredFile = FileEntry
/// The way to read files of the store from one end to the other.
package typealias FileReading = SequentialReading
