import FileStoreS3
import Foundation
import HTTPTransfer
import Synchronization

/// A service with the interface of S3 in memory, with faults: what of it the file store uses.
package final class ObjectService: Sendable {
    /// What becomes of a request.
    package enum Fault: Hashable, Sendable {
        /// The service answers with a status and a word.
        case refused(Int, String)
        /// The connection is lost before the request arrives.
        case lostBefore
        /// The request takes effect, and its answer is lost.
        case lostAfter
    }

    private struct Object {
        var bytes: [UInt8]
        var modified: Int64
    }

    private struct Upload {
        var key: String
        var parts: [Int: [UInt8]] = [:]
        var begun: Int64
    }

    private struct State {
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        var requestCount = 0
        var uploadCount = 0
        var methods: [String] = []
        var hidden: Set<String> = []
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> Int64
    private let fault: @Sendable (Int, HTTPClient.Request) throws -> Fault?

    /// Keys in a page of a list, so that few make several.
    private static let pageMax = 3
    /// The smallest part but the last.
    private let partBytesMin: Int

    /// Creates an empty service with the bucket `files`.
    ///
    /// - Parameters:
    ///   - partBytesMin: The smallest part of an upload but the last.
    ///   - now: Milliseconds since 1970, for the times of objects.
    ///   - fault: Returns the fault of a request by its number, from 1; what it throws is thrown to the client.
    package init(
        partBytesMin: Int = 5, now: @escaping @Sendable () -> Int64,
        fault: @escaping @Sendable (Int, HTTPClient.Request) throws -> Fault? = { _, _ in nil }
    ) {
        self.partBytesMin = partBytesMin
        self.now = now
        self.fault = fault
    }

    /// The keys of all objects, in order.
    package var keys: [String] { state.withLock { $0.objects.keys.sorted() } }
    /// The uploads in parts that are neither completed nor aborted.
    package var uploadCount: Int { state.withLock { $0.uploads.count } }
    /// The requests so far.
    package var requestCount: Int { state.withLock { $0.requestCount } }
    /// The requests so far, as method, key and the names of their parameters.
    package var log: [String] { state.withLock { $0.methods } }

    /// Leaves objects out of lists, as services do whose lists are late.
    package func hideFromLists(_ isHidden: (String) -> Bool) {
        state.withLock { state in state.hidden = Set(state.objects.keys.filter(isHidden)) }
    }

    /// Replaces an object.
    package func replace(_ key: String, _ bytes: [UInt8]) { state.withLock { $0.objects[key]?.bytes = bytes } }

    /// Returns an object; nil if there is none.
    package func bytes(of key: String) -> [UInt8]? { state.withLock { $0.objects[key]?.bytes } }

    /// Puts an object, or removes it.
    package func set(_ key: String, _ bytes: [UInt8]?) {
        let now = now()
        state.withLock { $0.objects[key] = bytes.map { Object(bytes: $0, modified: now) } }
    }

    /// Sends a request.
    package func send(_ request: HTTPClient.Request) async throws -> HTTPClient.Answer {
        let number = state.withLock { state in
            state.requestCount += 1
            return state.requestCount
        }
        let fault = try fault(number, request)
        switch fault {
        case .refused(let status, let code):
            return Self.answer(status, "<Error><Code>\(code)</Code></Error>")
        case .lostBefore: throw HTTPClient.Failure(.connectionLost, reason: "Connection reset")
        case .lostAfter, nil: break
        }
        guard let parts = URLComponents(string: request.url), request.headers["authorization"] != nil,
            parts.path.hasPrefix("/files")
        else { return Self.answer(403, "<Error><Code>AccessDenied</Code></Error>") }
        let key = String(parts.path.dropFirst("/files/".count))
        let query = Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { $1 }
        let answer = state.withLock { state in
            state.methods.append("\(request.method) \(key) \(query.keys.sorted().joined(separator: ","))")
            return self.answer(to: request, key, query, &state)
        }
        if fault == .lostAfter { throw HTTPClient.Failure(.answerLost, reason: "Connection reset") }
        return answer
    }

    private func answer(
        to request: HTTPClient.Request, _ key: String, _ query: [String: String], _ state: inout State
    ) -> HTTPClient.Answer {
        let id = query["uploadId"]
        switch (request.method, key.isEmpty, id) {
        case ("GET", true, _): return query["uploads"] == nil ? list(query, state) : uploads(query, state)
        case ("POST", _, nil):
            state.uploadCount += 1
            state.uploads["u\(state.uploadCount)"] = Upload(key: key, begun: now())
            return Self.answer(
                200,
                "<?xml version='1.0'?>\n<InitiateMultipartUploadResult><UploadId>u\(state.uploadCount)</UploadId></InitiateMultipartUploadResult>"
            )
        case ("POST", _, let id?): return complete(id, request.body, &state)
        case ("PUT", _, let id?):
            guard state.uploads[id]?.key == key, let number = query["partNumber"].flatMap({ Int($0) }) else {
                return Self.answer(404, "<Error><Code>NoSuchUpload</Code></Error>")
            }
            guard let source = request.headers["x-amz-copy-source"] else {
                state.uploads[id]?.parts[number] = request.body
                return HTTPClient.Answer(status: 200, headers: ["etag": "\"p\(number)\""], body: [])
            }
            guard let object = state.objects[String(source.dropFirst("/files/".count))] else {
                return Self.answer(404, "<Error><Code>NoSuchKey</Code></Error>")
            }
            state.uploads[id]?.parts[number] = object.bytes
            return Self.answer(200, "<CopyPartResult><ETag>&quot;p\(number)&quot;</ETag></CopyPartResult>")
        case ("DELETE", _, let id?):
            let known = state.uploads.removeValue(forKey: id) != nil
            return Self.answer(known ? 204 : 404, known ? "" : "<Error><Code>NoSuchUpload</Code></Error>")
        case ("PUT", _, nil):
            state.objects[key] = Object(bytes: request.body, modified: now())
            return Self.answer(200, "")
        case ("DELETE", _, nil):
            state.objects[key] = nil
            return Self.answer(204, "")
        case ("HEAD", _, _), ("GET", false, _): return read(key, request, state)
        default: return Self.answer(405, "")
        }
    }

    private func read(_ key: String, _ request: HTTPClient.Request, _ state: State) -> HTTPClient.Answer {
        guard let object = state.objects[key] else {
            return Self.answer(404, request.method == "HEAD" ? "" : "<Error><Code>NoSuchKey</Code></Error>")
        }
        if request.method == "HEAD" {
            return HTTPClient.Answer(
                status: 200, headers: ["content-length": String(object.bytes.count)], body: [])
        }
        let ends = (request.headers["range"] ?? "").dropFirst("bytes=".count).split(separator: "-").compactMap {
            Int($0)
        }
        guard ends.count == 2, ends[0] < object.bytes.count else {
            return Self.answer(416, "<Error><Code>InvalidRange</Code></Error>")
        }
        let last = min(ends[1], object.bytes.count - 1)
        return HTTPClient.Answer(
            status: 206, headers: ["content-range": "bytes \(ends[0])-\(last)/\(object.bytes.count)"],
            body: Array(object.bytes[ends[0]...last]))
    }

    private func complete(_ id: String, _ body: [UInt8], _ state: inout State) -> HTTPClient.Answer {
        guard let upload = state.uploads[id] else {
            return Self.answer(404, "<Error><Code>NoSuchUpload</Code></Error>")
        }
        let named = String(decoding: body, as: UTF8.self).components(separatedBy: "<PartNumber>").dropFirst()
        let parts = named.compactMap { Int($0.prefix { $0.isNumber }) }.compactMap { upload.parts[$0] }
        guard parts.count == named.count, parts.dropLast().allSatisfy({ $0.count >= partBytesMin }) else {
            // As services do that begin their answer before they know its end.
            return Self.answer(200, "<Error><Code>EntityTooSmall</Code></Error>")
        }
        state.uploads[id] = nil
        state.objects[upload.key] = Object(bytes: parts.flatMap { $0 }, modified: now())
        return Self.answer(200, "\n <CompleteMultipartUploadResult><ETag>\"x\"</ETag></CompleteMultipartUploadResult>")
    }

    private func list(_ query: [String: String], _ state: State) -> HTTPClient.Answer {
        let keys = state.objects.keys.sorted().filter {
            $0.hasPrefix(query["prefix"] ?? "") && $0 > query["continuation-token"] ?? "" && !state.hidden.contains($0)
        }
        let page = keys.prefix(min(Self.pageMax, query["max-keys"].flatMap { Int($0) } ?? 1000))
        let contents = page.map { key in
            let object = state.objects[key]
            return "<Contents><Key>\(key)</Key><LastModified>\(Self.text(object?.modified ?? 0))</LastModified>"
                + "<ETag>&quot;x&quot;</ETag><Size>\(object?.bytes.count ?? 0)</Size></Contents>"
        }
        let isCut = page.count < keys.count
        return Self.answer(
            200,
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>\(isCut)</IsTruncated>"
                + (isCut ? "<NextContinuationToken>\(page.last ?? "")</NextContinuationToken>" : "<Marker/>")
                + contents.joined() + "</ListBucketResult>")
    }

    private func uploads(_ query: [String: String], _ state: State) -> HTTPClient.Answer {
        let found = state.uploads.filter { $0.value.key.hasPrefix(query["prefix"] ?? "") }.map { id, upload in
            "<Upload><Key>\(upload.key)</Key><UploadId>\(id)</UploadId><Initiated>\(Self.text(upload.begun))</Initiated></Upload>"
        }
        return Self.answer(
            200,
            "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>\(found.joined())</ListMultipartUploadsResult>"
        )
    }

    private static func answer(_ status: Int, _ body: String) -> HTTPClient.Answer {
        HTTPClient.Answer(status: status, headers: [:], body: Array(body.utf8))
    }

    private static func text(_ milliseconds: Int64) -> String {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return Date(timeIntervalSince1970: (Double(milliseconds) + 0.4) / 1000).formatted(format)
    }
}
