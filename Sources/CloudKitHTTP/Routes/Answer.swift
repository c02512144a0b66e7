import CloudKitModel
import CloudKitWire
import HTTPTypes

/// What an endpoint answers, before the headers that every answer has.
struct Answer {
    var status: HTTPResponse.Status = .ok
    var contentType = Self.json
    var body: [UInt8]
    /// Headers of this answer alone.
    var headers = HTTPFields()
    var itemsIn = 0
    var itemsOut = 0
    var itemsFailed = 0
    /// Why the request failed as a whole.
    var code: RequestFailure.Code?

    static let json = "application/json; charset=UTF-8"
}

extension Answer {
    /// The error object of a whole request (docs/web-services.md §5.1).
    init(failure: RequestFailure, _ exchange: Exchange, uuid: String) {
        self.init(
            status: HTTPResponse.Status(code: failure.code.httpStatus),
            body: WireError(
                failure: failure, redirectURL: failure.code == .authenticationRequired ? exchange.signInURL : nil
            ).wireAnswer(
                style: WireStyle(
                    surface: exchange.surface == .native ? .native : .web, caller: nil, requestUUID: uuid)),
            code: failure.code)
        if let wait = failure.retryAfter { headers[.retryAfter] = String(Int(wait.rounded(.up))) }
    }
}
