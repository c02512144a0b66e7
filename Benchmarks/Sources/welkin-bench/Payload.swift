import CloudUnderTest
import Foundation
import SeededChance

/// The saved records: a text, an integer, a date and bytes, together 1 KiB of field values.
enum Payload {
    /// The size of the bytes field, so that text (24), number (8), date (8) and bytes are 1,024 bytes.
    static let byteCount = 984

    /// The number of digits of record names, constant so that a body can be changed in place.
    static let digits = 9

    /// Fixed, incompressible bytes.
    static let bytes: [UInt8] = {
        var chance = SplitMix64(seed: 1024)
        return (0..<byteCount).map { _ in UInt8.random(in: 0 ... .max, using: &chance) }
    }()

    static let base64 = Data(bytes).base64EncodedString()

    static func name(_ number: Int) -> String {
        let digits = String(number)
        return "r" + String(repeating: "0", count: Self.digits - digits.count) + digits
    }

    static func operation(_ number: Int, payload: String = base64) -> String {
        #"{"operationType":"create","record":{"recordName":"\#(name(number))","recordType":"Bench","fields":{"#
            + #""title":{"value":"benchmark record \#(number % 10)000000","type":"STRING"},"#
            + #""count":{"value":4242424242,"type":"INT64"},"date":{"value":1700000000123,"type":"TIMESTAMP"},"#
            + #""payload":{"value":"\#(payload)","type":"BYTES"}}}}"#
    }
}

/// A template of requests for batches of new records, with changing names.
struct BatchTemplate {
    private let bytes: [UInt8]
    private let places: [Int]

    init(_ user: SignedInUser, zone: String, count: Int, payload: String = Payload.base64) {
        let request = user.modify((0..<count).map { Payload.operation($0, payload: payload) }, zone: zone)
        let marker = Array(#""recordName":"r"#.utf8)
        var places: [Int] = []
        var position = 0
        while position + marker.count <= request.bytes.count {
            if request.bytes[position...].starts(with: marker) {
                places.append(position + marker.count)
                position += marker.count
            } else {
                position += 1
            }
        }
        bytes = request.bytes
        self.places = places
    }

    /// Returns the request with the names from `first` on.
    func request(first: Int) -> RawRequest {
        var bytes = bytes
        for (index, place) in places.enumerated() {
            var number = first + index
            for digit in stride(from: Payload.digits - 1, through: 0, by: -1) {
                bytes[place + digit] = UInt8(48 + number % 10)
                number /= 10
            }
        }
        return RawRequest(bytes: bytes)
    }
}
