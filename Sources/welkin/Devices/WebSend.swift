import CloudKitDevice
import Foundation
import FoundationNetworking

/// Sends the requests of a sign-in with the system's HTTP client.
enum WebSend {
    static let send: DeviceSend = { request in
        guard let url = URL(string: request.url) else { throw SignInError.answerMalformed }
        var web = URLRequest(url: url, timeoutInterval: 30)
        web.httpMethod = request.method
        web.httpBody = Data(request.body)
        for (name, value) in request.headers { web.setValue(value, forHTTPHeaderField: name) }
        do {
            let (data, response) = try await URLSession.shared.data(for: web)
            guard let http = response as? HTTPURLResponse else { throw SignInError.answerMalformed }
            return DeviceResponse(status: http.statusCode, body: Array(data))
        } catch let error as URLError {
            throw UnreachableError(
                endpoint: "\(url.scheme ?? "")://\(url.host ?? ""):\(url.port.map(String.init) ?? "")",
                code: error.code.rawValue)
        }
    }
}

/// Nothing answers at the endpoint.
struct UnreachableError: Error, CustomStringConvertible {
    var endpoint: String
    var code: Int

    var description: String {
        "The cloud at \(endpoint) cannot be reached (code \(code)). Is it running? Start one with: welkin serve"
    }
}
