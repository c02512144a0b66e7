import CloudKitModel
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
