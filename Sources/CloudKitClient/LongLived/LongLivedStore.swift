import CloudKitDevice
import CloudKitModel
import Foundation

/// An operation that outlives its process, as stored on disk (B-OPS-06).
package struct LongLivedOperation<Arguments: Codable & Sendable>: Codable, Sendable {
    /// The newest version of the file format that this code reads.
    package static var versionMax: Int { 1 }

    /// The version of the file format.
    package var version = versionMax
    /// The identifier of the operation.
    package var id: String
    /// The account it belongs to: the next user of the profile neither sees nor runs it.
    package var account: String
    /// The scope of the operation's database, as its raw value.
    package var scope: Int
    /// Whatever makes the operation again.
    package var arguments: Arguments
    /// The quality of service, as its raw value; nil: none was set.
    package var qualityOfService: Int?
    /// A Boolean value that indicates whether requests may use a cellular network; nil: the default.
    package var allowsCellularAccess: Bool?
    /// Seconds without data after which a request fails; nil: the default.
    package var requestTimeout: Double?
    /// Seconds for the whole operation; nil: the default.
    package var resourceTimeout: Double?
    /// The archived operation group; nil: none.
    package var group: Data?
    /// Seconds since 1970 when it was written down; nil in files of earlier versions.
    var started: Double?
    /// Seconds since 1970 when all its answers were there; nil: there is more to do.
    package var finished: Double?

    /// Creates an operation that is not finished.
    package init(
        id: String, account: String, scope: Int, arguments: Arguments, qualityOfService: Int?,
        allowsCellularAccess: Bool?,
        requestTimeout: Double?, resourceTimeout: Double?, group: Data?, started: Date? = nil
    ) {
        self.started = started?.timeIntervalSince1970
        self.id = id
        self.account = account
        self.scope = scope
        self.arguments = arguments
        self.qualityOfService = qualityOfService
        self.allowsCellularAccess = allowsCellularAccess
        self.requestTimeout = requestTimeout
        self.resourceTimeout = resourceTimeout
        self.group = group
    }

    /// Returns a Boolean value that indicates whether the operation has expired: a finished one waits for its app
    /// (B-OPS-06), an unfinished one may be resumed within its resource timeout (B-OPS-04).
    package func isOver(at now: Date) -> Bool {
        if let finished { return now.timeIntervalSince1970 - finished > LongLivedStore.secondsKept }
        guard let started else { return false }
        let timeLimit = resourceTimeout ?? CallSettings.resourceTimeoutDefault
        return now.timeIntervalSince1970 - started > max(timeLimit, LongLivedStore.secondsKept)
    }
}

/// The long-lived operations of one container in one environment: a folder each, readable by its owner only.
///
/// A folder holds what makes the operation again and the answers that came so far. Running the operation again uses these
/// answers before it asks the server, so that all its callbacks come again, and nothing happens twice.
package struct LongLivedStore: Sendable {
    /// The number of seconds that a finished operation waits for its app (B-OPS-06).
    static let secondsKept = 24.0 * 3600
    /// The maximum size of stored responses; further ones are requested again. No modification is as large.
    static let answerBytesMax = 64 << 20

    /// The absolute path of the folder with one folder for each operation.
    package let folder: String

    /// Creates a store in a folder, which is made when the first operation is stored.
    package init(folder: String) {
        self.folder = folder
    }

    private func path(_ id: String) -> String { folder + "/" + id }
    private func header(_ id: String) -> String { path(id) + "/operation.json" }
    private func attempt(_ ticket: ResponseKey, _ id: String) -> String { path(id) + "/\(ticket.name).attempt" }
    private func answer(_ ticket: ResponseKey, of id: String) -> String { path(id) + "/\(ticket.name).answer" }

    /// Writes an operation down; from then on it is found again.
    package func save(_ operation: LongLivedOperation<some Codable & Sendable>) throws {
        try PrivateFile.makeFolder(path(operation.id))
        try PrivateFile.replace(header(operation.id), with: Array(JSONEncoder().encode(operation)))
    }

    /// The operation of this user with this identifier; nil: there is none, or it cannot be read.
    package func operation<Arguments>(
        _ id: String, of owner: LongLivedOwner, as type: Arguments.Type
    ) -> LongLivedOperation<Arguments>? {
        // The identifier from the app becomes a file name: only a UUID is accepted.
        guard UUID(uuidString: id) != nil, let bytes = try? PrivateFile.read(header(id)) ?? nil,
            let operation = try? JSONDecoder().decode(LongLivedOperation<Arguments>.self, from: Data(bytes)),
            operation.version <= LongLivedOperation<Arguments>.versionMax, operation.id == id,
            owner.owns(operation)
        else { return nil }
        return operation
    }

    /// The identifiers of a user's operations. Removes what has waited long enough.
    package func ids<Arguments: Codable & Sendable>(
        of owner: LongLivedOwner, at now: Date, as type: Arguments.Type
    ) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.sorted().filter { id in
            guard let operation = operation(id, of: owner, as: type) else { return false }
            guard operation.isOver(at: now) else { return true }
            remove(id)
            return false
        }
    }

    func keep(_ bytes: [UInt8], _ ticket: ResponseKey, of id: String) {
        // A response that could not be written is requested again.
        try? PrivateFile.replace(answer(ticket, of: id), with: bytes)
    }

    func answer(_ ticket: ResponseKey, _ id: String) -> [UInt8]? {
        (try? PrivateFile.read(answer(ticket, of: id))) ?? nil
    }

    func keep(_ attempt: RequestAttempt, _ ticket: ResponseKey, of id: String) throws(FileFailure) {
        try PrivateFile.replace(self.attempt(ticket, id), with: Array(attempt.text.utf8))
    }

    func attempt(_ ticket: ResponseKey, of id: String) -> RequestAttempt? {
        let bytes = (try? PrivateFile.read(attempt(ticket, id))) ?? nil
        return bytes.flatMap { RequestAttempt(String(decoding: $0, as: UTF8.self)) }
    }

    /// Removes an operation and its stored answers.
    package func remove(_ id: String) {
        // An operation without its header does not exist, whatever other files are left.
        try? PrivateFile.remove(header(id))
        try? FileManager.default.removeItem(atPath: path(id))
    }

    /// Makes this process the one that runs the operation; nil: another one does.
    func claim(_ id: String) -> FileClaim? {
        guard (try? PrivateFile.makeFolder(path(id))) != nil else { return nil }
        return FileClaim(path(id) + "/claim")
    }
}

/// Which of an operation's answers: the how-manieth of one endpoint.
struct ResponseKey: Hashable, Sendable {
    let endpoint: String
    let number: Int

    var name: String { "\(endpoint.replacingOccurrences(of: "/", with: "-"))-\(number)" }
}
