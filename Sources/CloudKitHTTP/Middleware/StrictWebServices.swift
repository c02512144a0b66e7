import CloudKitModel
import CloudKitWire
import HTTPTypes

/// Refuses what documented web services do not have: headers and words of the additions. Their endpoints are not in the table
/// (docs/web-services.md §17).
struct StrictWebServices: RequestCheck {
    func check(_ request: IncomingRequest) throws {
        if let header = request.headers.firstName(prefix: "x-welkin-") {
            throw Self.refusal(of: "the header \(header)")
        }
        if request.endpoint?.name == .assetUpload, request.method != .post, request.method != .options {
            throw RequestFailure(.methodNotAllowed, "method not allowed for this endpoint")
        }
    }

    static func refusal(of what: String) -> RequestFailure {
        RequestFailure(
            .badRequest, "\(what) is not part of CloudKit Web Services",
            remedy: "This cloud runs with --strict-web-services.")
    }
}

/// Refuses bodies with keys or words of the additions.
struct StrictBodies: RequestCheck {
    func check(_ request: IncomingRequest) throws {
        if let addition = WebServicesAdditions.first(in: request.body) {
            throw StrictWebServices.refusal(of: "'\(addition)'")
        }
    }
}
