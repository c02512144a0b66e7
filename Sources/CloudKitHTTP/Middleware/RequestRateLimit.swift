import CloudKitServer

/// Refuses requests of apps beyond the rates that the operator has set (B-THR-06).
struct RequestRateLimit: RequestCheck {
    var rates: RequestRates

    func check(_ request: IncomingRequest) throws {
        if let admission = request.admission {
            let place = try request.place
            try rates.count(admission.user, in: place.container, place.environment)
        }
    }
}
