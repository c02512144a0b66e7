import CoreLocation
import Foundation

extension PredicateValue: Codable {
    private indirect enum Form: Codable {
        case null
        case string(String)
        case bool(Bool)
        case int(Int64)
        case unsigned(UInt64)
        case double(Double)
        case date(Double)
        case data(Data)
        case location([Double])
        case recordID(CKRecordID.Content)
        case reference(CKReference.Content)
        case list([Form])
        case unsupported(String)

        init(_ value: PredicateValue) {
            self =
                switch value {
                case .null: .null
                case .string(let text): .string(text)
                case .bool(let flag): .bool(flag)
                case .int(let number): .int(number)
                case .unsigned(let number): .unsigned(number)
                case .double(let number): .double(number)
                case .date(let date): .date(date.timeIntervalSinceReferenceDate)
                case .data(let data): .data(data)
                case .location(let location): .location(location.numbers)
                case .recordID(let id): .recordID(id.content)
                case .reference(let reference): .reference(reference.content)
                case .list(let values): .list(values.map { Form($0) })
                case .unsupported(let name): .unsupported(name)
                }
        }

        var value: PredicateValue {
            switch self {
            case .null: .null
            case .string(let text): .string(text)
            case .bool(let flag): .bool(flag)
            case .int(let number): .int(number)
            case .unsigned(let number): .unsigned(number)
            case .double(let number): .double(number)
            case .date(let seconds): .date(Date(timeIntervalSinceReferenceDate: seconds))
            case .data(let data): .data(data)
            case .location(let numbers): CLLocation(numbers: numbers).map(PredicateValue.location) ?? .null
            case .recordID(let content): CKRecordID(content).map(PredicateValue.recordID) ?? .null
            case .reference(let content): CKReference(content).map(PredicateValue.reference) ?? .null
            case .list(let forms): .list(forms.map(\.value))
            case .unsupported(let name): .unsupported(name)
            }
        }
    }

    init(from decoder: any Decoder) throws {
        self = try Form(from: decoder).value
    }

    func encode(to encoder: any Encoder) throws {
        try Form(self).encode(to: encoder)
    }
}
