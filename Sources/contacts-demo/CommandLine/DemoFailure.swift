import CloudKit

/// The reason why the demonstration ended early, as a message and an exit status.
struct DemoFailure: Error {
    enum Status: Int32 {
        case unexpected = 1
        case usage, unreachable, notSignedIn
    }

    var status: Status
    var message: String

    init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }
}

extension DemoFailure {
    /// Translates an error of the framework.
    init(_ error: any Error) {
        if let failure = error as? DemoFailure {
            self = failure
            return
        }
        guard let error = error as? CKError else {
            self.init(.unexpected, "Unexpected: \(error.localizedDescription)")
            return
        }
        switch error.code {
        case .networkUnavailable, .networkFailure, .serverResponseLost, .serviceUnavailable:
            self.init(
                .unreachable,
                "No cloud answers (\(error.localizedDescription)). Start one with script/serve and set "
                    + "CLOUDKIT_ENDPOINT to it, or run script/demo, which starts its own.")
        case .badContainer:
            self.init(.unreachable, error.localizedDescription)
        case .notAuthenticated:
            self.init(
                .notSignedIn,
                "A device is not signed in (\(error.localizedDescription)). "
                    + "Sign in with: welkin login --email EMAIL --profile NAME")
        default:
            let first = error.partialErrorsByItemID?.values.first.map { ", first: \($0.localizedDescription)" } ?? ""
            self.init(.unexpected, "Unexpected CKError \(error.code.rawValue): \(error.localizedDescription)\(first)")
        }
    }
}
