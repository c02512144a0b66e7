import CloudKitDevice
import CloudKitEncryption
import CloudKitModel
import CloudKitWire
import Foundation
import ScriptedCloud
import Synchronization

@testable import CloudKit
@testable import CloudKitClient

/// A cloud that keeps records and files in memory, and breaks where its test says.
final class ScriptedAssetCloud: Transport {
    /// The failure of one request about a file.
    enum Trouble: Sendable {
        /// The connection breaks after so many bytes of the piece arrived.
        case breaks(after: Int)
        /// All arrives, and its answer is lost.
        case losesAnswer
        case refuses(RequestFailure)
        /// The host refuses the connection: its server starts again.
        case isClosed
        /// Something happens on the device meanwhile.
        case meanwhile(@Sendable () -> Void)
        /// The answer is another one.
        case answers(@Sendable (TransportResponse) -> TransportResponse)
    }

    struct State: Sendable {
        var records: [String: Record] = [:]
        /// Files, by a part of their URLs.
        var files: [String: [UInt8]] = [:]
        var uploads: [String: [UInt8]] = [:]
        /// For the next pieces, by method.
        var troubles: [TransportRequest.Method: [Trouble]] = [:]
        var requests: [TransportRequest] = []
        var tickets = 0
        var tag = 0
        var refusesNextSave: RequestFailure?
        /// The host to which downloads are led; nil: they come from the cloud.
        var directHost: String?
    }

    let state = Mutex(State())

    func trouble(_ method: TransportRequest.Method, _ troubles: Trouble...) {
        state.withLock { $0.troubles[method, default: []] += troubles }
    }

    /// The methods and the last path components of the requests.
    var log: [String] {
        state.withLock {
            $0.requests.map { "\($0.method.rawValue) \($0.url.pathComponents.suffix(2).joined(separator: "/"))" }
        }
    }

    func count(_ method: TransportRequest.Method, _ path: String = "") -> Int {
        state.withLock {
            $0.requests.filter { $0.method == method && (path.isEmpty || $0.url.path.contains(path)) }.count
        }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try state.withLock { state in
            state.requests.append(request)
            let path = request.url.path
            if path.hasSuffix("assets/upload") { return try Self.tickets(request, &state) }
            if path.hasSuffix("assets/rereference") { return try Self.rereference(request, state) }
            if path.hasSuffix("records/modify") { return try Self.modify(request, &state) }
            if path.hasSuffix("records/lookup") { return try Self.lookup(request, state) }
            var troubles = state.troubles[request.method] ?? []
            let trouble = troubles.isEmpty ? nil : troubles.removeFirst()
            state.troubles[request.method] = troubles
            return try Self.transfer(request, trouble, &state)
        }
    }

    private static func transfer(
        _ request: TransportRequest, _ trouble: Trouble?, _ state: inout State
    ) throws -> TransportResponse {
        var request = request
        if case .breaks(let count) = trouble { request.body = Array(request.body.prefix(count)) }
        if case .refuses(let failure) = trouble { return .refusal(failure) }
        if case .isClosed = trouble { throw TransportFailure.refused }
        if case .meanwhile(let body) = trouble { body() }
        let answer = request.method == .get ? file(request, state) : piece(request, &state)
        switch trouble {
        case .breaks: throw TransportFailure.connectionLost
        case .losesAnswer: throw TransportFailure.answerLost
        case .answers(let change): return change(answer)
        default: return answer
        }
    }

    private static func tickets(_ request: TransportRequest, _ state: inout State) throws -> TransportResponse {
        let asked = try AssetUploadRequest(wire: request.body, limits: .native)
        let tickets = asked.items.map { item in
            state.tickets += 1
            return AssetUploadTarget(
                recordName: item.recordName ?? "?", fieldName: item.fieldName,
                url: "https://files.test/upload/\(state.tickets)")
        }
        return TransportResponse(status: 200, body: tickets.wireAnswer())
    }

    private static func piece(_ request: TransportRequest, _ state: inout State) -> TransportResponse {
        let name = request.url.lastPathComponent
        var bytes = state.uploads[name] ?? []
        guard request.method == .patch else {
            return TransportResponse(status: 204, headers: ["Upload-Offset": String(bytes.count)])
        }
        let offset = request.headers["Upload-Offset"].flatMap(Int.init) ?? -1
        guard (0...bytes.count).contains(offset) else { return .refusal(RequestFailure(.conflict, "a gap")) }
        bytes += request.body.dropFirst(bytes.count - offset)
        state.uploads[name] = bytes
        guard String(bytes.count) == request.headers["Upload-Length"] else {
            return TransportResponse(status: 204, headers: ["Upload-Offset": String(bytes.count)])
        }
        var checksum = FileChecksum()
        checksum.update(bytes)
        state.files[checksum.text] = bytes
        let value = AssetValue(fileChecksum: checksum.text, size: Int64(bytes.count), receipt: "receipt")
        return TransportResponse(status: 200, body: value.wireUploadAnswer())
    }

    private static func file(_ request: TransportRequest, _ state: State) -> TransportResponse {
        let name = request.url.pathComponents.dropLast().last?.replacing("-", with: "/") ?? ""
        if let host = state.directHost, request.headers["X-Welkin-Direct-Download"] == "yes" {
            let place = request.url.absoluteString.replacing("files.test", with: host)
            return TransportResponse(status: 307, headers: ["Location": place])
        }
        guard let file = state.files[name] else {
            return .refusal(RequestFailure(.assetNotAvailable, "the asset is not available"))
        }
        let ends = (request.headers["Range"] ?? "").dropFirst("bytes=".count).split(separator: "-").compactMap {
            Int($0)
        }
        guard ends.count == 2, ends[1] < file.count else { return TransportResponse(status: 416) }
        return TransportResponse(
            status: 206, headers: ["Content-Range": "bytes \(ends[0])-\(ends[1])/\(file.count)"],
            body: Array(file[ends[0]...ends[1]]))
    }

    private static func rereference(_ request: TransportRequest, _ state: State) throws -> TransportResponse {
        let asked = try RereferenceAssetsRequest(wire: request.body, limits: .native)
        let outcomes = try asked.items.map { item -> RereferenceOutcome in
            let field = state.records[item.recordName]?.fields.first { $0.name == item.fieldName && !$0.type.isList }
            guard case .asset(var value) = try field?.value() else {
                return .failed(item, RequestFailure(.badRequest, "the field holds no asset"))
            }
            value.downloadURL = nil
            value.receipt = "receipt"
            return .asset(value)
        }
        return TransportResponse(status: 200, body: outcomes.wireAnswer(style: TransportResponse.style))
    }

    private static func modify(_ request: TransportRequest, _ state: inout State) throws -> TransportResponse {
        let modification = try request.modification()
        var outcomes: [RecordOutcome] = []
        for operation in modification.operations {
            let name = operation.change.recordName ?? "?"
            if let refusal = state.refusesNextSave {
                state.refusesNextSave = nil
                outcomes.append(.failed(recordName: name, refusal))
                continue
            }
            state.tag += 1
            var record =
                state.records[name]
                ?? .stored(name, in: modification.zoneID, type: operation.change.recordType ?? "?")
            record.changeTag = ChangeTag(String(state.tag))
            record.protection = operation.change.protection ?? record.protection
            for change in operation.change.fields {
                record.fields.removeAll { $0.name == change.name }
                if case .set(let field) = change { record.fields.append(field) }
            }
            state.records[name] = record
            outcomes.append(.record(try answered(record)))
        }
        return .records(outcomes)
    }

    private static func lookup(_ request: TransportRequest, _ state: State) throws -> TransportResponse {
        let lookup = try request.lookup()
        return .records(
            try lookup.records.map { item in
                guard let record = state.records[item.recordName] else {
                    return .failed(recordName: item.recordName, RequestFailure(.itemNotFound, "Record not found"))
                }
                return .record(try answered(record.keeping(keys: lookup.desiredKeys)))
            })
    }

    /// The record with addresses to fetch its files from.
    private static func answered(_ record: Record) throws -> Record {
        var record = record
        record.fields = try record.fields.map { field in
            func answered(_ value: FieldValue) -> FieldValue {
                guard case .asset(var asset) = value else { return value }
                asset.receipt = nil
                asset.downloadURL = "https://files.test/\(asset.fileChecksum.replacing("/", with: "-"))/${f}"
                return .asset(asset)
            }
            switch try field.value() {
            case .list(.asset, let list): return try Field(name: field.name, value: .list(.asset, list.map(answered)))
            case let value: return try Field(name: field.name, value: answered(value))
            }
        }
        return record
    }
}

/// A device with its own files, in a folder that is removed with it.
final class AssetDevice: Sendable {
    let folder: URL
    let container: CKContainer
    let cache: AssetCache
    let clock = ScriptedClock()

    /// - Parameter secret: The account's; nil: its keys are not on the device.
    init(_ cloud: ScriptedAssetCloud, secret: AccountSecret? = AssetDevice.secret, pieceBytes: Int = 100_000) throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("assets-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        cache = AssetCache(AssetCacheSettings(folder: folder.path + "/cache"))
        let place = ContainerEndpoint(
            endpoint: "https://cloud.test", container: ContainerID("c"), environment: .development)
        container = CKContainer(
            connection: ContainerConnection(
                identifier: "c", place: .success(place), account: ScriptedAccount(secret: secret),
                transport: cloud,
                clientEnvironment: clock.clientEnvironment, assets: cache, pieceBytes: pieceBytes))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    static let secret = AccountSecret()

    /// A file of so many bytes, none like the next.
    func file(_ name: String, _ count: Int, seed: UInt8 = 1) throws -> URL {
        let url = folder.appendingPathComponent(name)
        try Data(Self.bytes(count, seed: seed)).write(to: url)
        return url
    }

    static func bytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8)) &+ seed }
    }

    /// The number of complete files in the cache.
    var cachedFiles: Int {
        let root = folder.path + "/cache/files"
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return folders.reduce(0) {
            $0 + ((try? FileManager.default.contentsOfDirectory(atPath: root + "/" + $1).count) ?? 0)
        }
    }
}
