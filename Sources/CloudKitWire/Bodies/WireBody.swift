import CloudKitModel
import JSONBytes

/// Reads whole bodies within their limits; every way in which that can fail becomes a `RequestFailure`.
enum WireBody {
    private static let emptyObject = Array("{}".utf8)

    /// Reads a request; an empty body is an empty object.
    static func request<Result>(
        _ bytes: [UInt8], limits: WireLimits, _ read: (inout JSONReader) throws -> Result
    ) throws(RequestFailure) -> Result {
        guard bytes.count <= limits.bodyBytesMax else {
            throw RequestFailure(
                .sizeLimitExceeded, "request too large", remedy: "Send the halves of the request one after the other.")
        }
        let bytes = bytes.isEmpty ? emptyObject : bytes
        do {
            return try withJSON(bytes, depthMax: limits.depthMax, read)
        } catch let failure as RequestFailure {
            throw failure
        } catch let error as JSONError {
            throw .unexpectedInput(error, in: bytes)
        } catch {
            throw .unexpectedInput
        }
    }

    /// Reads an answer.
    static func answer<Result>(
        _ bytes: [UInt8], _ read: (inout JSONReader) throws -> Result
    ) throws(RequestFailure) -> Result {
        do {
            guard bytes.count <= WireLimits.answer.bodyBytesMax else { throw RequestFailure.unreadableAnswer }
            return try withJSON(bytes, depthMax: WireLimits.answer.depthMax, read)
        } catch {
            throw .unreadableAnswer
        }
    }
}

extension RequestFailure {
    /// An answer that is not one of the endpoint that was called.
    package static let unreadableAnswer = RequestFailure(
        .internalError, "The server's answer could not be read.",
        remedy: "Check that the endpoint is a CloudKit server and its version fits this client.")

    /// Something unexpected at a place of the body; the words are those of the live service (docs/web-services.md §5.3).
    static func unexpectedInput(_ error: JSONError, in body: [UInt8]) -> RequestFailure {
        let (line, column) = error.position(in: body)
        return RequestFailure(
            .badRequest, "BadRequestException: Unexpected input at [line: \(line), column: \(column)]")
    }

    static func missing(_ key: String) -> RequestFailure {
        RequestFailure(.badRequest, "BadRequestException: missing required field '\(key)'")
    }

    /// More items than a request may have (B-LIM-01).
    static func tooManyItems(_ count: Int, max: Int) -> RequestFailure {
        RequestFailure(
            .itemLimitExceeded,
            "Your request contains \(count) items which is more than the maximum number of items in a single request"
                + " (\(max))",
            remedy: "Send the halves of the request one after the other.")
    }
}
