import CloudKitClient
import Foundation

/// A request of a device with the answer, as the lying cloud sees and changes them.
struct Exchange: Sendable {
    /// The device's name, such as `ada/phone`.
    let device: String
    /// The path after the database, such as `records/modify`; `asset/download` for the bytes of a file.
    let endpoint: String
    /// `private`, `shared` or `public`; empty outside of databases.
    let database: String
    let url: URL
    let sent: [UInt8]
    var status: Int
    var headers: [String: String]
    var body: [UInt8]

    init(_ request: TransportRequest, _ response: TransportResponse, of device: String) {
        self.device = device
        (endpoint, database) = Self.place(request.url)
        url = request.url
        sent = request.body
        status = response.status
        headers = response.headers
        body = response.body
    }

    /// The body of the request.
    var request: JSON { JSON(sent) ?? .null }

    /// The body of the answer.
    var answer: JSON {
        get { JSON(body) ?? .null }
        set { body = newValue.bytes }
    }

    /// Changes the answer; an answer that stays the same stays the real cloud's, byte by byte.
    mutating func change(_ body: (inout JSON) -> Void) {
        let before = answer
        var after = before
        body(&after)
        if after != before { answer = after }
    }

    /// The person whose device asks.
    var person: String { String(device.prefix { $0 != "/" }) }

    /// Returns `records/modify` and `private` for `/database/1/container/environment/private/records/modify`.
    static func place(_ url: URL) -> (endpoint: String, database: String) {
        let parts = url.path.split(separator: "/").map(String.init)
        switch (parts.first, parts.dropFirst().first) {
        case ("assets", "upload"): return ("asset/upload", "")
        case ("assets", _): return ("asset/download", "")
        case ("courier", _): return ("courier", "")
        case ("database", _) where parts.count > 5: return (parts[5...].joined(separator: "/"), parts[4])
        default: return (parts.dropFirst(4).joined(separator: "/"), "")
        }
    }
}
