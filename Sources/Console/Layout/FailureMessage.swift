import CloudKitModel
import CloudKitWire

extension Part {
    /// Returns a message with an error of the API: its code, reason and remedy.
    static func failure(_ failure: RequestFailure, requestUUID: String) -> HTML {
        alert {
            Tag.p {
                Tag.strong(failure.reason)
            }
            failure.remedy.map { Tag.p($0) }
            Tag.p(.class("quiet")) {
                "Error "
                code(failure.code.rawValue)
                ", request "
                code(requestUUID)
                failure.retryAfter.map { HTML(". Try again in \(Int($0.rounded(.up))) seconds") }
                "."
            }
        }
    }
}
