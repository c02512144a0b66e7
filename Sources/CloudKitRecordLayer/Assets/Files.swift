import FileStore

/// The store of files as the rules see it. They name these words only, so that no engine's module is ever theirs.
package typealias Files = any FileStore
package typealias AssetFileID = FileID
package typealias FilesError = FileStoreError
package typealias StoredFile = FileEntry
