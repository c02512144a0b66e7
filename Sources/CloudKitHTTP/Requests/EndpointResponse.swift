import CloudKitModel
import CloudKitWire
import HTTPTypes
import HummingbirdCore

/// The response of an endpoint, before the headers that every response has.
package struct EndpointResponse {
    /// The status.
    package var status: HTTPResponse.Status = .ok
    var contentType = Self.json
    package internal(set) var body: Body
    /// Headers of this response alone.
    package var headers = HTTPFields()
    var itemsIn = 0
    var itemsOut = 0
    var itemsFailed = 0
    /// The error of a request that failed as a whole.
    package var code: RequestFailure.Code?
    /// Runs once the body of a file has been sent, also when the connection broke, with the number of bytes that went out.
    var onFileSent: (@Sendable (Int) -> Void)?
    /// The part of the answer budget that the body takes until it was sent; nil for answers that reserve nothing.
    var reservation: AnswerReservation?

    /// The content of a response.
    package enum Body {
        /// Bytes in memory.
        case bytes([UInt8])
        /// A file, read while it is sent.
        case file(FileBody)
    }

    /// A file on its way out.
    package struct FileBody: Sendable {
        var byteCount: Int
        /// Writes the file and counts the bytes that went out.
        var write: @concurrent @Sendable (inout any ResponseBodyWriter, TransferredByteCount) async throws -> Void
    }

    package static let json = "application/json; charset=UTF-8"
}

extension EndpointResponse {
    /// Creates a response with bytes.
    ///
    /// - Parameters:
    ///   - itemsIn: Items of the request, for the log.
    ///   - itemsOut: Items of the response.
    ///   - itemsFailed: Those of them that are errors.
    ///   - code: The error of a request that failed as a whole.
    package init(
        status: HTTPResponse.Status = .ok, contentType: String = Self.json, body: [UInt8],
        headers: HTTPFields = HTTPFields(), itemsIn: Int = 0, itemsOut: Int = 0, itemsFailed: Int = 0,
        code: RequestFailure.Code? = nil
    ) {
        self.init(
            status: status, contentType: contentType, body: .bytes(body), headers: headers, itemsIn: itemsIn,
            itemsOut: itemsOut, itemsFailed: itemsFailed, code: code, onFileSent: nil)
    }

    /// An empty JSON object, for an action that returns nothing.
    static var emptyObject: EndpointResponse { EndpointResponse(body: Array("{}".utf8)) }

    /// Returns a response with a small object that is not about records.
    static func json(_ body: some Encodable, itemsOut: Int = 0) throws -> EndpointResponse {
        EndpointResponse(body: try SmallJSON.encode(body), itemsOut: itemsOut)
    }

    /// The error object of a request that failed as a whole (docs/web-services.md §5.1).
    init(failure: RequestFailure, of request: IncomingRequest) {
        self.init(
            status: HTTPResponse.Status(code: failure.code.httpStatus),
            body: WireError(
                failure: failure, redirectURL: failure.code == .authenticationRequired ? request.signInURL : nil
            ).wireAnswer(
                style: WireStyle(
                    surface: request.surface == .native ? .native : .web, caller: nil, requestUUID: request.uuid)),
            code: failure.code)
        if let wait = failure.retryAfter { headers[.retryAfter] = String(Int(wait.rounded(.up))) }
    }
}
