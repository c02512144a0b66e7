import FileStore
import HTTPTransfer

/// The requests to an object store, as functions: objects, lists, uploads in parts.
package struct S3Objects: Sendable {
    let client: S3Client

    /// An object in a list.
    package struct Listed: Hashable, Sendable {
        /// The key behind the prefix of the place.
        package var key: String
        /// The number of bytes.
        package var length: Int64
        /// Milliseconds since 1970.
        package var modified: Int64
    }

    init(client: S3Client) { self.client = client }

    /// Creates the functions for the objects of a place.
    package init(_ place: S3Place, settings: S3Settings, connection: S3FileStore.Connection) {
        self.init(client: S3Client(place: place, settings: settings, connection: connection))
    }

    /// An upload in parts that was neither completed nor aborted.
    struct Upload: Hashable, Sendable {
        var key: String
        var id: String
        /// Milliseconds since 1970.
        var begun: Int64
    }

    private static let plain = ["content-type": "application/octet-stream"]

    // MARK: Objects

    /// Puts an object as a whole.
    package func put(_ key: String, _ bytes: [UInt8], action: String) async throws {
        _ = try await client.answer(
            to: S3Client.Request(method: "PUT", key: key, headers: Self.plain, body: bytes, action: action),
            accepted: [200, 201, 204])
    }

    /// Returns the length of an object; nil if there is none.
    package func length(_ key: String, action: String) async throws -> Int64? {
        let answer = try await client.answer(
            to: S3Client.Request(method: "HEAD", key: key, action: action), accepted: [200, 404])
        if answer.status == 404 { return nil }
        guard let length = answer.headers["content-length"].flatMap({ Int64($0) }) else {
            throw Self.unreadable(action: action)
        }
        return length
    }

    /// Returns up to `count` bytes of an object; nil if there is none.
    package func bytes(_ key: String, at offset: Int64, count: Int, action: String) async throws -> [UInt8]? {
        guard offset >= 0, count > 0 else { return try await length(key, action: action) == nil ? nil : [] }
        let last = offset + Int64(count) - 1
        var request = S3Client.Request(method: "GET", key: key, action: action)
        request.headers = ["range": "bytes=\(offset)-\(last)"]
        // A service that ignores the range does not make this process read the whole.
        request.answerBytesMax = count + 65_536
        let answer = try await client.answer(to: request, accepted: [200, 206, 404, 416])
        switch answer.status {
        case 206:
            guard answer.headers["content-range"]?.hasPrefix("bytes \(offset)-") ?? false, answer.body.count <= count
            else { throw Self.unreadable(action: action) }
            return answer.body
        case 200: return Array(answer.body.dropFirst(Int(clamping: offset)).prefix(count))
        case 416: return []
        default:
            // A missing bucket is not a missing file.
            let refusal = S3Refusal(answer)
            if refusal.code == "NoSuchBucket" { throw refusal.error(action) }
            return nil
        }
    }

    /// Deletes an object; one that does not exist is no error.
    package func delete(_ key: String, action: String) async throws {
        _ = try await client.answer(
            to: S3Client.Request(method: "DELETE", key: key, action: action), accepted: [200, 202, 204, 404])
    }

    // MARK: Lists

    /// Returns all objects whose keys begin with a text, at most `limit`.
    package func list(_ prefix: String, limit: Int = .max, action: String) async throws -> [Listed] {
        var found: [Listed] = []
        var token: String?
        repeat {
            var query = [
                ("list-type", "2"), ("prefix", client.place.prefix + prefix), ("max-keys", String(min(limit, 1000))),
            ]
            if let token { query.append(("continuation-token", token)) }
            let root = try await element(
                S3Client.Request(method: "GET", query: query, action: action), name: "ListBucketResult")
            for content in root.all("Contents") {
                guard let key = content.text("Key"), key.hasPrefix(client.place.prefix),
                    let length = content.text("Size").flatMap({ Int64($0) }),
                    let modified = content.text("LastModified").flatMap({ S3Time($0) })
                else { throw Self.unreadable(action: action) }
                found.append(
                    Listed(
                        key: String(key.dropFirst(client.place.prefix.count)), length: length,
                        modified: modified.milliseconds))
            }
            token = root.text("IsTruncated") == "true" ? root.text("NextContinuationToken") : nil
        } while token != nil && found.count < limit
        return found
    }

    /// Returns the uploads in parts to keys that begin with a text.
    func uploads(_ prefix: String, action: String) async throws -> [Upload] {
        var found: [Upload] = []
        var marks: [(String, String)] = []
        while true {
            let root = try await element(
                S3Client.Request(
                    method: "GET", query: [("uploads", ""), ("prefix", client.place.prefix + prefix)] + marks,
                    action: action), name: "ListMultipartUploadsResult")
            for upload in root.all("Upload") {
                guard let key = upload.text("Key"), key.hasPrefix(client.place.prefix),
                    let id = upload.text("UploadId"),
                    let begun = upload.text("Initiated").flatMap({ S3Time($0) })
                else { throw Self.unreadable(action: action) }
                found.append(
                    Upload(
                        key: String(key.dropFirst(client.place.prefix.count)), id: id, begun: begun.milliseconds))
            }
            guard root.text("IsTruncated") == "true", let key = root.text("NextKeyMarker"),
                let id = root.text("NextUploadIdMarker")
            else { return found }
            marks = [("key-marker", key), ("upload-id-marker", id)]
        }
    }

    // MARK: Uploads in parts

    /// Begins an upload in parts and returns its id.
    func begin(_ key: String, action: String) async throws -> String {
        let root = try await element(
            S3Client.Request(method: "POST", key: key, query: [("uploads", "")], headers: Self.plain, action: action),
            name: "InitiateMultipartUploadResult")
        guard let id = root.text("UploadId"), !id.isEmpty else { throw Self.unreadable(action: action) }
        return id
    }

    /// Sends a part and returns its tag.
    func part(_ number: Int, of upload: String, _ key: String, _ bytes: [UInt8], action: String) async throws
        -> String
    {
        let answer = try await client.answer(
            to: S3Client.Request(
                method: "PUT", key: key, query: Self.part(number, of: upload), body: bytes, action: action),
            accepted: [200])
        guard let tag = answer.headers["etag"], Self.isTag(tag) else { throw Self.unreadable(action: action) }
        return tag
    }

    /// Makes an object a part, without moving its bytes through this process, and returns its tag.
    func copy(_ source: String, as number: Int, of upload: String, _ key: String, action: String) async throws
        -> String
    {
        let path = "/" + client.place.bucket + "/" + client.place.prefix + source
        let root = try await element(
            S3Client.Request(
                method: "PUT", key: key, query: Self.part(number, of: upload),
                headers: ["x-amz-copy-source": SignatureV4.encoded(path, keepsSlashes: true)],
                timeLimit: .seconds(300), action: action), name: "CopyPartResult")
        guard let tag = root.text("ETag"), Self.isTag(tag) else { throw Self.unreadable(action: action) }
        return tag
    }

    /// Makes an object of the parts of an upload.
    ///
    /// - Returns: false: there is no such upload; perhaps it was completed, and the answer was lost.
    func complete(_ upload: String, _ key: String, tags: [String], action: String) async throws -> Bool {
        let parts = tags.enumerated().map {
            "<Part><PartNumber>\($0.offset + 1)</PartNumber><ETag>\($0.element)</ETag></Part>"
        }
        var request = S3Client.Request(method: "POST", key: key, query: [("uploadId", upload)], action: action)
        request.headers = ["content-type": "application/xml"]
        request.body = Array("<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>".utf8)
        request.timeLimit = .seconds(300)
        let answer = try await client.answer(to: request, accepted: [200, 404])
        if answer.status == 404 { return false }
        // A failure while the parts are put together comes with the status 200.
        guard XMLElement.read(answer.body)?.name == "CompleteMultipartUploadResult" else {
            throw S3Refusal(answer).error(action)
        }
        return true
    }

    /// Gives up an upload in parts; one that does not exist is no error.
    func abort(_ upload: String, _ key: String, action: String) async throws {
        _ = try await client.answer(
            to: S3Client.Request(method: "DELETE", key: key, query: [("uploadId", upload)], action: action),
            accepted: [200, 204, 404])
    }

    private static func part(_ number: Int, of upload: String) -> [(String, String)] {
        [("partNumber", String(number)), ("uploadId", upload)]
    }

    private func element(_ request: S3Client.Request, name: String) async throws -> XMLElement {
        let answer = try await client.answer(to: request, accepted: [200])
        guard let root = XMLElement.read(answer.body), root.name == name else {
            throw S3Refusal(answer).code.isEmpty
                ? Self.unreadable(action: request.action) : S3Refusal(answer).error(request.action)
        }
        return root
    }

    private static func isTag(_ tag: String) -> Bool {
        (1...200).contains(tag.utf8.count)
            && tag.utf8.allSatisfy { $0 > 32 && $0 < 127 && !"<>&'".utf8.contains($0) }
    }

    private static func unreadable(action: String) -> FileStoreError {
        FileStoreError(
            .unavailable, action, detail: "the object store's answer has not the form expected; check the endpoint")
    }
}
