import ArgumentParser
import CloudKitDevice
import Foundation

/// The options that name the cloud; other commands of this machine read the same configuration.
struct CloudOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The cloud's address. [env: CLOUDKIT_ENDPOINT]", valueName: "url"))
    var endpoint: String?

    /// The variables of this process, overridden by the options.
    func variables(container: String? = nil, environment: String? = nil) -> [String: String] {
        var variables = ProcessInfo.processInfo.environment
        variables["CLOUDKIT_ENDPOINT"] = endpoint ?? variables["CLOUDKIT_ENDPOINT"]
        variables["CLOUDKIT_CONTAINER"] = container ?? variables["CLOUDKIT_CONTAINER"]
        variables["CLOUDKIT_ENVIRONMENT"] = environment ?? variables["CLOUDKIT_ENVIRONMENT"]
        return variables
    }

    /// The address of the cloud; nil where none is configured.
    ///
    /// - Throws: `ValidationError` for an address or a file that cannot be used.
    var endpointIfAny: String? {
        get throws {
            do {
                return try DeviceConfiguration.ofSignedInDevice(variables: variables()).endpoint
            } catch DeviceConfigurationError.endpointMissing {
                return nil
            } catch {
                throw ValidationError("\(error)")
            }
        }
    }

    /// Returns the configuration of a container.
    ///
    /// - Throws: `ValidationError` that says what is missing.
    func configuration(container: String? = nil, environment: String? = nil) throws -> DeviceConfiguration {
        do {
            return try DeviceConfiguration.ofSignedInDevice(
                container: container, variables: variables(container: container, environment: environment))
        } catch DeviceConfigurationError.endpointMissing {
            throw ValidationError(
                "No cloud is configured. Give --endpoint, set CLOUDKIT_ENDPOINT, or write \"endpoint\" into cloudkit.json."
            )
        } catch {
            throw ValidationError("\(error)")
        }
    }
}

/// The option for a team, which Apple's tool asks for. A Welkin cloud has no teams.
struct TeamOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Accepted as Apple's tool asks for it; a Welkin cloud has no teams.", valueName: "team-id"))
    var teamId: String?
}

/// The option for a container.
struct ContainerOption: ParsableArguments {
    @Option(help: ArgumentHelp("The container, such as iCloud.com.example.app. [env: CLOUDKIT_CONTAINER]"))
    var containerId: String?

    func validate() throws {
        guard let containerId else { return }
        let isValid = (1...255).contains(containerId.utf8.count) && containerId.utf8.allSatisfy(Self.isAllowed)
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

/// The environment of a container.
enum EnvironmentName: String, ExpressibleByArgument, CaseIterable {
    case development
    case production

    /// Accepts upper case, too.
    init?(argument: String) { self.init(rawValue: argument.lowercased()) }
}

/// The option for an environment.
struct EnvironmentOption: ParsableArguments {
    @Option(help: "development or production. [env: CLOUDKIT_ENVIRONMENT]")
    var environment: EnvironmentName?
}

/// A container in one environment of a cloud.
struct ContainerPlace {
    var configuration: DeviceConfiguration
    var container: String
    var environment: String

    /// Finds the place that options and configuration name.
    ///
    /// - Throws: `ValidationError` that says what is missing.
    init(_ cloud: CloudOptions, _ container: ContainerOption, environment: EnvironmentName?) throws {
        configuration = try cloud.configuration(container: container.containerId, environment: environment?.rawValue)
        guard let name = container.containerId ?? configuration.container else {
            throw ValidationError("Missing expected argument '--container-id <container-id>'")
        }
        self.container = name
        self.environment = configuration.environment
    }
}
