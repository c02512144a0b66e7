import Foundation

extension Backup {
    /// The objects of all series.
    func changeObjects() throws(BackupError) -> [ChangeObject] {
        try place.list(ChangeSegment.folder).compactMap { ChangeObject($0.name) }
    }

    /// Reads a segment.
    ///
    /// - Parameter previous: The digest of the one before.
    /// - Returns: The segment, and its digest.
    func segment(_ object: ChangeObject, after previous: String) throws(BackupError) -> (ChangeSegment, String) {
        let part = "segment \(object.number) of the changes"
        guard let stored = try place.read(object.name) else { throw .damaged(part, "it is missing") }
        let bytes: [UInt8]
        if let key {
            guard let opened = key.open(changes: stored, named: object.name) else {
                throw .damaged(part, "its seal does not hold")
            }
            bytes = opened
        } else {
            bytes = stored
        }
        guard let segment = ChangeSegment(bytes) else { throw .damaged(part, "its digest does not hold") }
        let header = segment.header
        guard header.series == object.series, header.number == object.number, header.time == object.time,
            header.previous == previous
        else { throw .damaged(part, "it is not the one that follows") }
        return (segment, ChangeSegment.digest(stored))
    }

    /// Reads the files that belong to a segment.
    func files(_ object: ChangeObject, digest: String?) throws(BackupError) -> ChangedFiles {
        let part = "the files of segment \(object.number) of the changes"
        let name = ChangeSegment.filesName(object.series, object.number)
        guard let stored = try place.read(name) else { throw .damaged(part, "they are missing") }
        let opened = key.map { $0.open(manifest: stored, named: name) } ?? stored
        guard let opened, digest == nil || ChangeSegment.digest(stored) == digest,
            let files = try? JSONDecoder().decode(ChangedFiles.self, from: Data(opened))
        else { throw .damaged(part, "their digest does not hold") }
        return files
    }

    /// Returns the chunks that segments name.
    func chunksOfChanges(_ objects: [ChangeObject]) throws(BackupError) -> Set<ChunkID> {
        var used: Set<ChunkID> = []
        for object in objects where object.time == nil {
            let changed = try files(object, digest: nil)
            for file in Array(changed.folders.values.joined()) + (changed.files ?? []) {
                used.formUnion(file.content.lists ?? [])
                used.formUnion(try ids(of: file.content))
            }
        }
        return used
    }

    /// Removes the segments that lie before all moments of their series, and series without moments.
    func removeChanges(before manifests: [BackupManifest]) throws {
        var first: [String: Int] = [:]
        for position in manifests.compactMap(\.changes) {
            first[position.series] = min(first[position.series] ?? .max, position.after)
        }
        if let activeSeries, first[activeSeries] == nil { first[activeSeries] = 0 }
        let names = try changeObjects().filter { $0.number <= first[$0.series] ?? .max }.map(\.name)
        for start in stride(from: 0, to: names.count, by: 256) {
            try place.keepLock(isSure: false)
            try place.remove(Array(names[start..<min(start + 256, names.count)]), isDurable: false)
        }
    }
}
