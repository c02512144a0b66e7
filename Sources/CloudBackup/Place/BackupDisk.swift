import Foundation

/// The system's calls with which a backup is read and written, with its errors.
enum BackupDisk {
    /// The bytes of a file; nil if there is none.
    static func read(_ path: String) throws(BackupError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw BackupError(system: errno, "open a file", path: path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw BackupError(system: errno, "look at a file", path: path) }
        return try read(descriptor, at: 0, count: Int(status.st_size), path: path)
    }

    /// Up to `count` bytes of an open file; fewer only at its end.
    static func read(_ descriptor: Int32, at offset: Int64, count: Int, path: String) throws(BackupError) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            while done < count {
                let result = pread(
                    descriptor, buffer.baseAddress.map { $0 + done }, count - done, off_t(offset) + off_t(done))
                if result == 0 { return }
                if result > 0 {
                    done += result
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        if failure != 0 { throw BackupError(system: failure, "read a file", path: path) }
        return bytes
    }

    /// Appends bytes to an open file.
    static func write(_ bytes: [UInt8], to descriptor: Int32, path: String) throws(BackupError) {
        var failure: Int32 = 0
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let result = Foundation.write(
                    descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done)
                if result >= 0 {
                    done += result
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        if failure != 0 { throw BackupError(system: failure, "write a file", path: path) }
    }

    /// Creates a file that only its owner may read; it must not exist.
    static func create(_ path: String) throws(BackupError) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BackupError(system: errno, "create a file", path: path) }
        return descriptor
    }

    /// Puts a file in its place as a whole; a reader sees all of it or nothing.
    ///
    /// - Parameter isDurable: Whether it is durable on return. Otherwise `synchronize(files:)` makes it so.
    static func replace(_ path: String, with bytes: [UInt8], isDurable: Bool) throws(BackupError) {
        let draft = path + ".new"
        unlink(draft)
        let descriptor = try create(draft)
        do throws(BackupError) {
            defer { close(descriptor) }
            try write(bytes, to: descriptor, path: path)
            if isDurable { try synchronize(descriptor, path: path) }
        } catch {
            unlink(draft)
            throw error
        }
        guard rename(draft, path) == 0 else {
            let failure = BackupError(system: errno, "name a file", path: path)
            unlink(draft)
            throw failure
        }
        if isDurable { try synchronizeFolder(of: path) }
    }

    /// Removes a file; one that does not exist is no error.
    static func remove(_ path: String) throws(BackupError) {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw BackupError(system: errno, "remove a file", path: path)
        }
    }

    /// Makes a folder of mode 0700; one that exists is no error.
    static func makeFolder(_ path: String) throws(BackupError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw BackupError(system: errno, "make a folder", path: path)
        }
    }

    /// The names in a folder, in order; nil if there is none.
    static func names(in path: String) throws(BackupError) -> [String]? {
        guard let folder = opendir(path) else {
            if errno == ENOENT { return nil }
            throw BackupError(system: errno, "list a folder", path: path)
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The size of a file in bytes; nil if there is none.
    static func size(_ path: String) -> Int64? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int64(status.st_size)
    }

    /// Whether there is a folder.
    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Makes the content of an open file durable.
    static func synchronize(_ descriptor: Int32, path: String) throws(BackupError) {
        guard fsync(descriptor) == 0 else { throw BackupError(system: errno, "flush a file", path: path) }
    }

    /// Makes the names in a folder durable.
    static func synchronizeFolder(_ path: String) throws(BackupError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError(system: errno, "open a folder", path: path) }
        defer { close(descriptor) }
        try synchronize(descriptor, path: path)
    }

    static func synchronizeFolder(of path: String) throws(BackupError) {
        try synchronizeFolder(parent(of: path))
    }

    /// Makes files durable that were written one after the other, and their names.
    ///
    /// By now the system has written most of them, so that waiting for each takes little.
    static func synchronize(files paths: some Sequence<String>) throws(BackupError) {
        var folders: Set<String> = []
        for path in paths {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw BackupError(system: errno, "open a file", path: path) }
            defer { close(descriptor) }
            try synchronize(descriptor, path: path)
            folders.insert(parent(of: path))
        }
        for folder in folders.sorted() {
            try synchronizeFolder(folder)
            try synchronizeFolder(of: folder)
        }
    }

    /// The last part of a name.
    static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? "" }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
