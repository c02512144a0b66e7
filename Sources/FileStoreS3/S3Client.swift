import FileStore
import HTTPTransfer

/// Sends requests to the service: signed, and again after failures that pass.
struct S3Client: Sendable {
    /// One request about an object, or about the bucket.
    struct Request: Sendable {
        var method: String
        /// The key behind the prefix; nil: the request is about the bucket.
        var key: String?
        var query: [(String, String)] = []
        /// Names in lower case.
        var headers: [String: String] = [:]
        var body: [UInt8] = []
        var answerBytesMax = 8 << 20
        var timeLimit = Duration.seconds(60)
        /// The action in errors.
        var action: String
    }

    let place: S3Place
    let settings: S3Settings
    let connection: S3FileStore.Connection

    private static let attemptsMax = 6
    private static let pauseMax = Duration.seconds(3)

    /// Sends a request until there is an answer that says something about the request.
    ///
    /// - Parameter accepted: The statuses that the caller understands.
    /// - Throws: `FileStoreError` for any other; `CancellationError`.
    func answer(to request: Request, accepted: Set<Int>) async throws -> HTTPClient.Answer {
        var attempt = 0
        while true {
            attempt += 1
            let outcome = try await attemptOnce(request, accepted)
            switch outcome {
            case .answered(let answer): return answer
            case .failed(let error, passes: false): throw error
            case .failed(let error, passes: true): if attempt >= Self.attemptsMax { throw error }
            }
            try await connection.sleep(pause(after: attempt))
        }
    }

    private enum Outcome {
        case answered(HTTPClient.Answer)
        /// - Parameter passes: Whether the same request may succeed a moment later.
        case failed(FileStoreError, passes: Bool)
    }

    private func attemptOnce(_ request: Request, _ accepted: Set<Int>) async throws -> Outcome {
        do {
            let answer = try await connection.send(signed(request))
            if accepted.contains(answer.status) { return .answered(answer) }
            return .failed(S3Refusal(answer).error(request.action), passes: Self.passes(answer.status))
        } catch let error as HTTPClient.Failure {
            let failure = FileStoreError(
                .unavailable, request.action,
                detail: "the object store at \(settings.endpoint) does not answer (\(error.reason)); "
                    + "check the endpoint, the network and the service")
            return .failed(failure, passes: ![.requestUnusable, .notTrusted, .answerTooLarge].contains(error.kind))
        }
    }

    /// 100 ms, 200 ms … 3 s, each with up to as much again.
    private func pause(after attempt: Int) -> Duration {
        let pause = min(Self.pauseMax, .milliseconds(50 << Int64(attempt)))
        return pause + pause * Int(connection.random() % 100) / 100
    }

    /// Whether the same request may succeed a moment later.
    private static func passes(_ status: Int) -> Bool { [408, 429, 500, 502, 503, 504].contains(status) }

    /// Returns a URL at which anyone can get an object for some seconds; nil where devices do not reach the service.
    ///
    /// The service sends it as a file that no browser renders.
    func directURL(of key: String, lifetime: Int) -> String? {
        guard let endpoint = settings.publicEndpoint else { return nil }
        let path = path(of: key)
        let query = signer.urlQuery(
            path: path, host: S3Settings.host(of: endpoint),
            query: [
                ("response-content-disposition", "attachment"),
                ("response-content-type", "application/octet-stream"),
            ], lifetime: lifetime, time: S3Time(milliseconds: connection.now()))
        return endpoint + SignatureV4.encoded(path, keepsSlashes: true) + "?" + query
    }

    private var signer: SignatureV4 {
        SignatureV4(accessKey: settings.accessKey, secretKey: settings.secretKey, region: settings.region)
    }

    /// Returns the path of an object, or of the bucket.
    private func path(of key: String?) -> String {
        "/" + place.bucket + (key.map { "/" + place.prefix + $0 } ?? "")
    }

    private func signed(_ request: Request) -> HTTPClient.Request {
        let time = S3Time(milliseconds: connection.now())
        let path = path(of: request.key)
        let payload = SignatureV4.digest(request.body)
        var headers = request.headers
        headers["x-amz-date"] = time.stamp
        headers["x-amz-content-sha256"] = payload
        var all = headers
        all["host"] = settings.host
        headers["authorization"] = signer.authorization(
            method: request.method, path: path, query: request.query, headers: all, payload: payload, time: time)
        let query = SignatureV4.encoded(request.query)
        return HTTPClient.Request(
            method: request.method,
            url: settings.endpoint + SignatureV4.encoded(path, keepsSlashes: true) + (query.isEmpty ? "" : "?" + query),
            headers: headers, body: request.body, timeLimit: request.timeLimit,
            // Each has the same effect a second time.
            isRepeatable: true, answerBytesMax: request.answerBytesMax)
    }
}

/// An answer that refuses a request.
struct S3Refusal {
    let status: Int
    /// The service's word for the reason, such as `NoSuchKey`; empty if the answer has none.
    let code: String

    init(_ answer: HTTPClient.Answer) {
        status = answer.status
        let code = XMLElement.read(answer.body).flatMap { $0.name == "Error" ? $0.text("Code") : nil } ?? ""
        let isWord = code.utf8.count <= 64 && code.utf8.allSatisfy { (97...122).contains($0 | 0x20) || $0 == 46 }
        self.code = isWord ? code : ""
    }

    func error(_ action: String) -> FileStoreError {
        let isFull = status == 507 || ["QuotaExceeded", "InsufficientStorage"].contains(code)
        let answer = "the object store answers \(status)" + (code.isEmpty ? "" : " \(code)")
        return FileStoreError(isFull ? .diskFull : .unavailable, action, detail: "\(answer); \(remedy)")
    }

    private var remedy: String {
        switch (status, code) {
        case (_, "SignatureDoesNotMatch"): "check the secret key and the region"
        case (_, "InvalidAccessKeyId"): "check the access key"
        case (_, "RequestTimeTooSkewed"): "set the clock of this machine"
        case (_, "NoSuchBucket"): "create the bucket, or correct its name"
        case (_, "AuthorizationHeaderMalformed"), (301, _), (307, _): "check the region and the endpoint"
        case (403, _): "check the keys, their rights in the bucket, and the clock of this machine"
        case (413, _), (507, _), (_, "QuotaExceeded"): "check the quota of the bucket"
        case (500..., _), (429, _), (408, _): "try again; check the service if this goes on"
        default: "check the service, and that it has the interface of S3"
        }
    }
}
