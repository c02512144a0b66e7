import CloudKitDevice
import CloudKitModel
import Foundation

/// Where an export has which records: written before they are, so that another export can go on from one that was not finished.
struct ExportOutline: Codable, Hashable, Sendable {
    /// A container.
    struct Container: Codable, Hashable, Sendable {
        var container: String
        var environment: String
        /// The paths of the zones of the private database, by their names.
        var zones: [String: String]
        /// The path of the records in the public database.
        var publicRecords: String
    }

    /// The address of the cloud.
    var cloud: String
    /// The address of the account.
    var account: String
    var containers: [Container] = []

    /// The name of the file, which an export has until it has a manifest.
    static let file = "unfinished.json"
}

extension ExportOutline {
    /// Creates the outline of an export that was finished.
    init(_ manifest: ExportManifest) {
        self.init(
            cloud: manifest.cloud, account: manifest.account,
            containers: manifest.containers.map { container in
                Container(
                    container: container.container, environment: container.environment,
                    zones: Dictionary(container.zones.map { ($0.name, $0.file.path) }) { $1 },
                    publicRecords: container.publicRecords.path)
            })
    }
}

/// An export that another one goes on from, whether it was finished or not: records that are as they were, and their files, need not be fetched again.
package struct EarlierExport: Sendable {
    /// The folder.
    let path: String
    private let outline: ExportOutline

    /// Opens an export.
    ///
    /// - Parameter path: The folder.
    /// - Throws: `ArchiveError.notAnExport`, `.manifestUnreadable`, `.versionUnknown`, `.damaged`, `.fileFailed`.
    package init(_ path: String) throws(ArchiveError) {
        self.path = path
        do throws(ArchiveError) {
            outline = ExportOutline(try ExportReader(path).manifest)
        } catch .notAnExport {
            let bytes: [UInt8]?
            do throws(FileFailure) {
                bytes = try PrivateFile.read(path + "/" + ExportOutline.file)
            } catch {
                throw .fileFailed(path: path + "/" + ExportOutline.file, error)
            }
            guard let bytes, let found = try? JSONDecoder().decode(ExportOutline.self, from: Data(bytes)) else {
                throw .notAnExport(path)
            }
            outline = found
        } catch {
            throw error
        }
    }

    /// Refuses the export of another account.
    ///
    /// - Throws: `ArchiveError.otherAccount`.
    func require(cloud: String, account: String) throws(ArchiveError) {
        guard outline.cloud == cloud, outline.account == account else {
            throw .otherAccount("\(outline.account) at \(outline.cloud)")
        }
    }

    /// Returns the records of a zone; nil: the export has none of it.
    func records(of zone: ZoneID, in scope: DatabaseScope, of place: AccountContainer) -> EarlierRecords? {
        let container = outline.containers.first {
            $0.container == place.container && $0.environment == place.environment
        }
        guard let container else { return nil }
        let file = scope == .public ? container.publicRecords : container.zones[zone.zoneName]
        return file.flatMap { EarlierRecords(path + "/" + $0) }
    }
}

/// The records of a zone in an earlier export, read one after the other in the order of their names.
struct EarlierRecords: ~Copyable {
    private let handle: FileHandle
    private var rest: [UInt8] = []
    private var next: ExportedRecord?

    private static let pieceBytes = 1 << 18

    /// Opens the file; nil if there is none.
    init?(_ path: String) {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        self.handle = handle
        advance()
    }

    deinit { try? handle.close() }

    /// Returns a record as the export has it, if that is the state in which the cloud has it now and nothing of it is missing. Names have to be asked for in
    /// their order.
    mutating func unchanged(_ record: Record) -> ExportedRecord? {
        let name = record.id.recordName
        while let held = next, held.recordName.utf8.lexicographicallyPrecedes(name.utf8) { advance() }
        guard let held = next, held.recordName == name, held.problem == nil, held.recordType == record.recordType,
            held.changeTag == record.changeTag.value, held.created == record.created, held.modified == record.modified
        else { return nil }
        return held
    }

    /// Reads the next line; the end of the file, also in the middle of a line, ends the records.
    private mutating func advance() {
        next = nil
        while true {
            if let end = rest.firstIndex(of: 0x0A) {
                let line = Array(rest[..<end])
                rest.removeFirst(end + 1)
                // A line that cannot be read is fetched again.
                guard let record = try? ExportedRecord(line: line) else { continue }
                next = record
                return
            }
            guard let piece = try? handle.read(upToCount: Self.pieceBytes), !piece.isEmpty else { return }
            rest += piece
        }
    }
}
