/// Reads everything that a moment needs, and names what cannot be restored.
package struct VerifyMoment {
    private let backup: Backup

    /// Something that cannot be restored.
    package struct Finding: Hashable, Sendable {
        /// The file of the data folder.
        package var part: String
        /// A fixed sentence that says what is wrong.
        package var problem: String
    }

    /// Creates the operation on a backup.
    package init(_ backup: Backup) { self.backup = backup }

    /// Verifies a moment.
    ///
    /// - Parameters:
    ///   - name: The name of the moment.
    ///   - storeName: The name of the store's file, for findings.
    ///   - immutableFiles: The path of the files that never change, for findings.
    /// - Throws: `noSuchMoment`, `damaged` for the manifest itself, and the errors of the disk.
    package func run(_ name: String, storeName: String, immutableFiles: String) throws -> [Finding] {
        try backup.requireContents("verified")
        let manifest = try backup.manifest(name)
        var findings: [Finding] = []
        var verified: Set<ChunkID> = []
        func verify(_ content: BackupContent, _ part: String) throws {
            do {
                let ids = try backup.ids(of: content).filter { !verified.contains($0) }
                try backup.forEach(ids) { _ in }
                verified.formUnion(ids)
            } catch {
                guard error.code == .damaged else { throw error }
                let problem = [error.details["part"], error.details["problem"]].compactMap { $0 }
                findings.append(Finding(part: part, problem: problem.joined(separator: ": ")))
            }
        }
        try verify(manifest.store, storeName)
        for file in manifest.files { try verify(file.content, file.name) }
        for (folder, listing) in manifest.folders.sorted(by: { $0.key < $1.key }) {
            let part = immutableFiles + "/" + folder
            do {
                for file in try backup.files(listing) { try verify(file.content, part + "/" + file.name) }
            } catch let error as BackupError where error.code == .damaged {
                findings.append(Finding(part: part, problem: "the list of its files is damaged"))
            }
        }
        return findings
    }
}
