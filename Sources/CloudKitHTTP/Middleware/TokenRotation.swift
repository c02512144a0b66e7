import HTTPTypes

/// Sends the next web token of an admitted user back, whatever the response is.
struct TokenRotation: RequestCheck {
    func check(_ request: IncomingRequest) throws {
        if let token = request.admission?.nextWebAuthToken {
            request.responseHeaders.append(HTTPField(name: HeaderName.webAuthToken, value: token))
        }
    }
}
