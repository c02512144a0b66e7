import ArgumentParser
import CloudKitModel

/// The options for a container and its environment.
struct ContainerOptions: ParsableArguments {
    @Argument(help: "The container, such as iCloud.com.example.app.")
    var container: String

    @Option(name: .long, help: "development or production.")
    var environment: Environment = .development

    var containerID: ContainerID { ContainerID(container) }

    func validate() throws { try Self.check(container) }

    static func check(_ container: String) throws {
        let isValid = (1...255).contains(container.utf8.count) && container.utf8.allSatisfy(isAllowed)
        guard isValid else {
            throw ValidationError("A container's name has 1 to 255 letters, digits, dots, hyphens and underscores.")
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension CloudKitModel.Environment: ExpressibleByArgument {}
